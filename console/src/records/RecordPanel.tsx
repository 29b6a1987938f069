import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type LogRecord, type RecordKind, type RecordNode, type RunOf, recordQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Icon } from '../parts/Icon.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { RecordDetail } from '../trace/RecordDetail.tsx';
import styles from './RecordPanel.module.css';
import { useRecordsAddress } from './useRecordsView.ts';

interface Props {
  run: RunOf;
  kind: RecordKind;
  id: string;
  /** Its row in the table, where it is among those that were loaded. */
  record: LogRecord | undefined;
  /** `12 of 1,204` */
  place: string | undefined;
  /** Keys add this record to queues and datasets; false where several are chosen. */
  hasKeys: boolean;
  onMove(step: number): void;
}

/** The record that is open at the side of the table. Keys and buttons go on to the next under the same filter. */
export function RecordPanel({ run, kind, id, record, place, hasKeys, onMove }: Props) {
  const { projectId } = run;
  const [{ tab }, change] = useRecordsAddress();
  const { data, error, refetch } = useQuery({ ...recordQuery(projectId, kind, id), placeholderData: keepPreviousData });
  const traceId = useMemo(() => traceOf(kind, id, data ?? record), [kind, id, data, record]);
  return (
    <aside className={styles.panel} aria-label="Record">
      <div className={styles.bar}>
        <button type="button" className="plain iconed" aria-label="Previous record" onClick={() => onMove(-1)}>
          <Icon name="up" />{' '}
          <span className="quiet" aria-hidden="true">
            k
          </span>
        </button>
        <button type="button" className="plain iconed" aria-label="Next record" onClick={() => onMove(1)}>
          <Icon name="down" />{' '}
          <span className="quiet" aria-hidden="true">
            j
          </span>
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
        <button type="button" className="plain iconed" aria-label="Close" onClick={() => change({ open: undefined })}>
          <Icon name="close" />
        </button>
      </div>
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <RecordDetail
          key={id}
          record={data}
          run={run}
          hasKeys={hasKeys}
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
