import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type RecordNode, sessionQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { costText, countText, durationText, lineText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { Time } from '../parts/Time.tsx';
import { LongText } from '../payload/LongText.tsx';
import { Payload } from '../payload/Payload.tsx';
import styles from './SessionPage.module.css';

/** A session as one conversation: its traces in order, each with what it took. */
export function SessionPage() {
  const { projectId, sessionId } = useParams({ from: '/signed in/p/$projectId/sessions/$sessionId' });
  const { data: session, error, refetch } = useQuery(sessionQuery(projectId, sessionId));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!session) return <LoadingNote what="the session" />;
  const turns = (session.traces ?? []).toSorted((a, b) => String(a.created_at).localeCompare(String(b.created_at)));
  const metrics = (session.metrics ?? {}) as Record<string, unknown>;
  return (
    <div className={styles.page}>
      <h1>{lineText(session.name || session.external_id || 'Session', 200)}</h1>
      <p className={styles.figures}>
        <Time at={String(session.created_at)} />
        <span>
          {countText(turns.length)} {turns.length === 1 ? 'turn' : 'turns'}
        </span>
        <span>
          {countText(metrics.num_input_tokens)} → {countText(metrics.num_output_tokens)} tokens
        </span>
        <span>{costText(metrics.cost)}</span>
      </p>
      <ol className={styles.turns}>
        {turns.map((turn) => (
          <Turn key={turn.id} turn={turn} projectId={projectId} />
        ))}
      </ol>
    </div>
  );
}

function Turn({ turn, projectId }: { turn: RecordNode; projectId: string }) {
  const metrics = (turn.metrics ?? {}) as Record<string, unknown>;
  const failure = typeof turn.error_message === 'string' ? turn.error_message : '';
  return (
    <li>
      <p className={styles.figures}>
        <Link to="/p/$projectId/traces/$traceId" params={{ projectId, traceId: turn.id }} search={{}}>
          {lineText(turn.name || 'trace', 200)}
        </Link>
        <Time at={String(turn.created_at)} />
        <span>{durationText(metrics.duration_ns)}</span>
        <span>{costText(metrics.cost)}</span>
      </p>
      <div className={styles.asked}>
        <Payload value={turn.input} />
      </div>
      {failure === '' ? (
        <Payload value={turn.output} />
      ) : (
        <div className="bad">
          <LongText text={failure} />
        </div>
      )}
    </li>
  );
}
