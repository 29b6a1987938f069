import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import { useProjectName } from '../data/projectName.ts';
import type { RecordNode, RunOf } from '../data/records.ts';
import { sessionQuery, turnsOf } from '../data/session.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { costText, countText, lineText, tokensText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { Time } from '../parts/Time.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { useFoundRecords } from '../records/useFoundRecords.ts';
import styles from './SessionPage.module.css';
import { Turns } from './Turns.tsx';

/** A session as one conversation: its traces in order, each with what it took. */
export function SessionPage() {
  const { projectId, sessionId } = useParams({ from: '/signed in/p/$projectId/sessions/$sessionId' });
  const { data, error, refetch } = useQuery(sessionQuery(projectId, sessionId));
  useTitle(lineText(data?.session.name || data?.session.external_id || 'Session', 120), useProjectName(projectId));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <LoadingNote what="the session" />;
  return <Session key={sessionId} {...data} />;
}

function Session({ session, run }: { session: RecordNode; run: RunOf }) {
  const question = useMemo(() => turnsOf(run, session.id), [run, session.id]);
  const { rows, total, error, isLoading, onSight, retry } = useFoundRecords({ question, run, kind: 'traces' });
  const scroller = useRef<HTMLDivElement>(null);
  const metrics = (session.metrics ?? {}) as Record<string, unknown>;
  return (
    <section ref={scroller} aria-label="Session" className={styles.scroller}>
      <div className={styles.page}>
        <h1>{lineText(session.name || session.external_id || 'Session', 200)}</h1>
        <p className={styles.figures}>
          <Time at={String(session.created_at)} />
          <span>
            {countText(total)} {total === 1 ? 'turn' : 'turns'}
          </span>
          <span>{tokensText(metrics)} tokens</span>
          <span>cost {costText(metrics.cost)}</span>
        </p>
        {error && <ErrorNote error={error} onRetry={retry} />}
        {isLoading && <LoadingNote what="its turns" />}
        {rows.length > 0 && <Turns projectId={run.projectId} {...{ rows, scroller, onSight }} />}
      </div>
    </section>
  );
}
