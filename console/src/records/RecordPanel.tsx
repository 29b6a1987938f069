import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useEffectEvent } from 'react';
import type { DetailTab } from '../address/traceAddress.ts';
import { type LogRecord, type RecordKind, type RunOf, recordQuery } from '../data/records.ts';
import { readAhead } from '../data/trace.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Icon } from '../parts/Icon.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { RecordDetail } from '../trace/RecordDetail.tsx';
import styles from './RecordPanel.module.css';
import { type FromList, recordPage } from './recordPage.ts';

interface Props {
  run: RunOf;
  kind: RecordKind;
  id: string;
  /** Its row in the table, where it is among those that were loaded. */
  record: LogRecord | undefined;
  /** The table, with its place there. */
  list: FromList;
  /** Those that keys lead to from here: they are read when this one is there. */
  likelyNext: readonly LogRecord[];
  /** `12 of 1,204` */
  place: string | undefined;
  /** Keys add this record to queues and datasets; false where several are chosen. */
  hasKeys: boolean;
  tab: DetailTab | undefined;
  onTab(tab: DetailTab | undefined): void;
  onMove(step: number): void;
  onClose(): void;
}

/** The record that is open at the side of the table. Keys and buttons go on to the next under the same filter. */
export function RecordPanel(props: Props) {
  const { run, kind, id, record, list, likelyNext, place, hasKeys, tab, onTab, onMove, onClose } = props;
  const { projectId } = run;
  const { data, error, refetch } = useQuery({ ...recordQuery(projectId, kind, id), placeholderData: keepPreviousData });
  const isThere = data?.id === id;
  // The row that is chosen is marked before the record is laid out.
  const shown = useDeferredValue(data);
  const readNext = useEffectEvent(() => readAhead(projectId, likelyNext));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another record has others beside it
  useEffect(() => {
    if (isThere) readNext();
  }, [isThere, id]);
  const page = recordPage(projectId, kind, id, data ?? record, list);
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
        {page && <Link {...page}>{kind === 'sessions' ? 'Open the session' : 'Open the trace'}</Link>}
        <button type="button" className="plain iconed" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : shown ? (
        <RecordDetail key={shown.id} record={shown} {...{ run, hasKeys, tab, onTab }} />
      ) : (
        <LoadingNote what="the record" />
      )}
    </aside>
  );
}
