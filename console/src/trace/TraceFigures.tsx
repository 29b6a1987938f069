import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import { recordQuery } from '../data/records.ts';
import { costText, countText, durationText, lineText, tokensText } from '../parts/format.ts';
import { Time } from '../parts/Time.tsx';
import type { OutlineRow } from './outline.ts';
import styles from './TracePage.module.css';

interface Props {
  projectId: string;
  outline: TraceOutline;
  rows: readonly OutlineRow[];
  failures: number;
}

/** Shows the name of a trace with its figures. A trace of which only spans have come has none of its own. */
export function TraceFigures({ projectId, outline, rows, failures }: Props) {
  const { trace_id: traceId, session_id: sessionId } = outline;
  const trace = rows[0]?.type === 'trace' ? rows[0] : undefined;
  const { data: record } = useQuery({ ...recordQuery(projectId, 'traces', traceId), enabled: trace !== undefined });
  const metrics = (record?.metrics ?? {}) as Record<string, unknown>;
  const spans = rows.length - (trace ? 1 : 0);
  return (
    <>
      <h1 dir="auto">{lineText(trace?.name || 'trace', 200)}</h1>
      <p className={styles.figures}>
        <Time at={outline.start_time} />
        <span>
          {countText(spans)} {spans === 1 ? 'span' : 'spans'}
        </span>
        <span>latency {durationText(trace ? outline.columns.duration_ns[0] : undefined)}</span>
        <span>{tokensText(record ? metrics : { num_total_tokens: trace?.tokens })} tokens</span>
        <span>cost {costText(trace?.cost)}</span>
        {failures > 0 && <span className="bad">{countText(failures)} failed</span>}
        {sessionId !== null && sessionId !== traceId && (
          <Link to="/p/$projectId/sessions/$sessionId" params={{ projectId, sessionId }}>
            Session
          </Link>
        )}
      </p>
    </>
  );
}
