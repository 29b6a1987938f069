import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { createJudge, defaultJudgeQuery } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import styles from './Judge.module.css';
import { JudgeForm } from './JudgeForm.tsx';
import { JudgeTryOut } from './JudgeTryOut.tsx';
import { emptyJudge, type JudgeDraft, scorerOf, versionOf } from './judgeDraft.ts';
import { NewMetricFrame } from './NewMetricFrame.tsx';

const from = '/signed in/p/$projectId/metrics/new';

/** Writes a judge, tries it on records, and saves it. */
export function NewJudgePage() {
  const { projectId } = useParams({ from });
  const chosen = useSearch({ from });
  const navigate = useNavigate();
  const { data: usual } = useQuery(defaultJudgeQuery(projectId));
  const [draft = emptyJudge, setDraft] = useDraft<JudgeDraft>(`new judge ${projectId}`);
  const saving = useMutation({
    mutationFn: () => createJudge(projectId, { name: draft.name.trim(), ...scorerOf(draft) }, versionOf(draft)),
    onSuccess(metricId) {
      setDraft(undefined);
      say(`Saved “${draft.name.trim()}”`);
      return navigate({ to: '/p/$projectId/metrics/$metricId', params: { projectId, metricId }, search: {} });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <NewMetricFrame title="New judge" projectId={projectId}>
      <form className={styles.editor} aria-label="Judge" onSubmit={send}>
        <JudgeForm draft={draft} onDraft={setDraft} isNew usualModel={usual?.model} />
        {saving.error && <ErrorNote error={saving.error} />}
        <div className={styles.bar}>
          <button type="submit" className="primary" disabled={saving.isPending || draft.kinds.length === 0}>
            {saving.isPending ? 'Saving …' : 'Save the judge'}
          </button>
          <button type="button" onClick={() => setDraft(undefined)}>
            Discard
          </button>
        </div>
      </form>
      <JudgeTryOut {...{ projectId, draft, chosen }} />
    </NewMetricFrame>
  );
}
