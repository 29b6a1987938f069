import { useQuery } from '@tanstack/react-query';
import { ingestCountersQuery } from '../../data/projectSettings.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { bytesText, countText } from '../../parts/format.ts';
import { LoadingNote } from '../../parts/notes.tsx';
import styles from '../Settings.module.css';

/** Counts the records that were sent to a project since the answering process started, by what became of them. */
export function IngestCounters({ projectId }: { projectId: string }) {
  const { data, error, refetch } = useQuery(ingestCountersQuery(projectId));
  const held = data?.held_updates;
  const lines = data &&
    held && [
      ['Accepted', countText(data.accepted_records)],
      ['Stored', `${countText(data.stored_records)} of ${countText(data.accepted_records)}`],
      ['Rejected', `${countText(data.rejected_records)} of ${countText(data.accepted_records)}`],
      ['Under way', countText(data.records_under_way)],
      ['Updates that wait for their records', `${countText(held.updates)} of at most ${countText(held.updates_limit)}`],
      ['The same in bytes', `${bytesText(held.bytes)} of at most ${bytesText(held.bytes_limit)}`],
      ['Updates dropped', countText(held.dropped)],
    ];
  return (
    <section className={styles.part} aria-label="Records that were sent">
      <h2>Records that were sent</h2>
      <p className="quiet">Since the process that answers started; another process of the service counts for itself.</p>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="the counters" />}
      {lines && (
        <dl className={styles.facts}>
          {lines.map(([label, text]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
