import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { type LogRecord, recordQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { costText, durationText, lineText } from '../parts/format.ts';
import { Time } from '../parts/Time.tsx';
import { LongText } from '../payload/LongText.tsx';
import { Payload } from '../payload/Payload.tsx';
import styles from './SessionPage.module.css';

/** Milliseconds that a turn is in sight before it is read: who drags the scroll bar passes most of them. */
const PAUSE_MS = 60;

/** A turn of a session; undefined while the list of turns has not come so far. */
export function Turn({ projectId, turn }: { projectId: string; turn: LogRecord | undefined }) {
  if (!turn) return <p className={styles.waiting}>…</p>;
  const metrics = (turn.metrics ?? {}) as Record<string, unknown>;
  return (
    <>
      <p className={styles.figures}>
        <Link to="/p/$projectId/traces/$traceId" params={{ projectId, traceId: turn.id }} search={{}}>
          {lineText(turn.name || 'trace', 200)}
        </Link>
        <Time at={String(turn.created_at)} />
        <span>latency {durationText(metrics.duration_ns)}</span>
        <span>cost {costText(metrics.cost)}</span>
      </p>
      <Said key={turn.id} projectId={projectId} id={turn.id} />
    </>
  );
}

/** Shows the input and output of a turn. */
function Said({ projectId, id }: { projectId: string; id: string }) {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, []);
  const query = recordQuery(projectId, 'traces', id);
  const { data: trace, error, refetch } = useQuery({ ...query, enabled: isSettled });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!trace) return <p className={styles.waiting}>…</p>;
  const failure = typeof trace.error_message === 'string' ? trace.error_message : '';
  return (
    <>
      <div className={styles.asked}>
        <Payload value={trace.input} />
      </div>
      {failure === '' ? (
        <Payload value={trace.output} />
      ) : (
        <div className="bad">
          <LongText text={failure} />
        </div>
      )}
    </>
  );
}
