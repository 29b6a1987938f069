import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { FormEvent, ReactNode } from 'react';
import { useMay } from '../data/permissions.ts';
import { useProjectName } from '../data/projectName.ts';
import { projectQuery } from '../data/projects.ts';
import page from '../dataset/DatasetPage.module.css';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { say } from '../parts/notice.ts';
import { useTitle } from '../parts/useTitle.ts';
import styles from './Judge.module.css';

interface Props {
  title: string;
  projectId: string;
  form: FormProps;
  /** Stands above the form and helps to fill it in. */
  help?: ReactNode;
  tryOut?: ReactNode;
  /** The fields of the metric. */
  children: ReactNode;
}

interface FormProps {
  /** A word for the kind of metric that the page makes. */
  label: string;
  /** The name that it is saved under. */
  name: string;
  isBlank: boolean;
  saveText: string;
  /** The text of the button while the metric is saved. */
  savingText: string;
  /** Saves the metric. @returns its id */
  onSave(): Promise<string>;
  /** The metric is saved or discarded. */
  onEnd(): void;
}

/** The page on which a metric is written, for those who may make metrics in the project. */
export function NewMetricPage({ title, projectId, form, help, tryOut, children }: Props) {
  useTitle(title, useProjectName(projectId));
  const project = useQuery(projectQuery(projectId));
  const mayMake = useMay(projectId, 'update');
  if (project.error) return <ErrorNote error={project.error} onRetry={() => void project.refetch()} />;
  if (!project.data) return <LoadingNote what="the project" />;
  return (
    <div className={page.page}>
      <div className={page.head}>
        <div className={page.title}>
          <h1>{title}</h1>
          <p className="quiet">
            <Link to="/p/$projectId/metrics" params={{ projectId }} search={{}}>
              Metrics
            </Link>
          </p>
        </div>
      </div>
      <div className={page.body}>
        {mayMake ? (
          <div className={styles.editor}>
            {help}
            <NewMetricForm {...form} projectId={projectId}>
              {children}
            </NewMetricForm>
            {tryOut}
          </div>
        ) : (
          <p>Your account may not make metrics in this project.</p>
        )}
      </div>
    </div>
  );
}

function NewMetricForm(props: FormProps & { projectId: string; children: ReactNode }) {
  const { projectId, label, name, isBlank, saveText, savingText, onSave, onEnd, children } = props;
  const navigate = useNavigate();
  const saving = useMutation({
    mutationFn: onSave,
    onSuccess(metricId) {
      onEnd();
      say(`Saved “${name.trim()}”`);
      return navigate({ to: '/p/$projectId/metrics/$metricId', params: { projectId, metricId }, search: {} });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form className={styles.editor} aria-label={label} onSubmit={send}>
      {children}
      {saving.error && <ErrorNote error={saving.error} />}
      <div className={styles.bar}>
        <button type="submit" className="primary" disabled={saving.isPending || isBlank}>
          {saving.isPending ? savingText : saveText}
        </button>
        <button type="button" onClick={onEnd}>
          Discard
        </button>
      </div>
    </form>
  );
}
