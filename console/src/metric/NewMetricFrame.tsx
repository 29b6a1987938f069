import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../data/permissions.ts';
import { useProjectName } from '../data/projectName.ts';
import { projectQuery } from '../data/projects.ts';
import page from '../dataset/DatasetPage.module.css';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import styles from './Judge.module.css';

/** The page of a new metric around its form, which is there for those who may make metrics in the project. */
export function NewMetricFrame({ title, projectId, children }: { title: string; projectId: string; children: ReactNode }) {
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
        {mayMake ? <div className={styles.editor}>{children}</div> : <p>Your account may not make metrics in this project.</p>}
      </div>
    </div>
  );
}
