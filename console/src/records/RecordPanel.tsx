import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type LogRecord, type RecordKind, type RecordNode, recordQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { RecordDetail } from '../trace/RecordDetail.tsx';
import styles from './RecordPanel.module.css';
import { useRecordsAddress } from './useRecordsView.ts';

interface Props {
  projectId: string;
  kind: RecordKind;
  id: string;
  /** Its row in the table, where it is among those that were loaded. */
  record: LogRecord | undefined;
  /** `12 of 1,204` */
  place: string | undefined;
  onMove(step: number): void;
}

/** The record that is open at the side of the table. Keys and buttons go on to the next under the same filter. */
export function RecordPanel({ projectId, kind, id, record, place, onMove }: Props) {
  const [{ tab }, change] = useRecordsAddress();
  const { data, error, refetch } = useQuery(recordQuery(projectId, kind, id));
  const traceId = useMemo(() => traceOf(kind, id, data ?? record), [kind, id, data, record]);
  return (
    <aside className={styles.panel} aria-label="Record">
      <div className={styles.bar}>
        <button type="button" aria-label="Previous record" onClick={() => onMove(-1)}>
          ↑ <kbd>k</kbd>
        </button>
        <button type="button" aria-label="Next record" onClick={() => onMove(1)}>
          ↓ <kbd>j</kbd>
        </button>
        <span className={styles.place}>{place}</span>
        {kind === 'sessions' ? (
          <Link to="/p/$projectId/sessions/$sessionId" params={{ projectId, sessionId: id }}>
            Open the session
          </Link>
        ) : (
          traceId !== undefined && (
            <Link
              to="/p/$projectId/traces/$traceId"
              params={{ projectId, traceId }}
              search={kind === 'spans' ? { span: id } : {}}
            >
              Open the trace
            </Link>
          )
        )}
        <button type="button" aria-label="Close" onClick={() => change({ open: undefined })}>
          ✕
        </button>
      </div>
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <RecordDetail
          key={id}
          record={data}
          projectId={projectId}
          tab={tab}
          onTab={(next) => change({ tab: next }, { replace: true })}
        />
      ) : (
        <LoadingNote what="the record" />
      )}
    </aside>
  );
}

const traceOf = (kind: RecordKind, id: string, record: LogRecord | RecordNode | undefined): string | undefined =>
  kind === 'traces' ? id : typeof record?.trace_id === 'string' ? record.trace_id : undefined;
