import { Link, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import styles from './Frame.module.css';

/** Links of the pages of a project, one each, in the order of the bar, and of those that all projects share. */
export function PageLinks({ projectId }: { projectId: string | undefined }) {
  const nav = useRef<HTMLElement>(null);
  const page = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another link
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [page]);
  return (
    <nav ref={nav} aria-label="Pages" className={styles.pages}>
      {projectId !== undefined && <ProjectPages projectId={projectId} />}
      <Link to="/queues" activeProps={{ 'aria-current': 'page' }}>
        Queues
      </Link>
      <Link to="/settings" activeProps={{ 'aria-current': 'page' }}>
        Settings
      </Link>
    </nav>
  );
}

function ProjectPages({ projectId }: { projectId: string }) {
  const link = { params: { projectId }, search: {}, activeProps: { 'aria-current': 'page' } } as const;
  return (
    <>
      <Link to="/p/$projectId/records" {...link}>
        Records
      </Link>
      <Link to="/p/$projectId/experiments" {...link}>
        Experiments
      </Link>
      <Link to="/p/$projectId/datasets" {...link}>
        Datasets
      </Link>
      <Link to="/p/$projectId/prompts" {...link}>
        Prompts
      </Link>
      <Link to="/p/$projectId/metrics" {...link}>
        Metrics
      </Link>
      <Link to="/p/$projectId/playground" {...link}>
        Playground
      </Link>
    </>
  );
}
