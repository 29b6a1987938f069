import type { DetailTab } from '../address/traceAddress.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import type { OutlineRow } from './outline.ts';
import styles from './RecordDetail.module.css';
import { useTabKeys } from './useTabKeys.ts';

interface Props {
  row: OutlineRow;
  error: Error | null;
  onRetry(): void;
  onTab(tab: DetailTab | undefined): void;
}

/** Shows a record that has not arrived by its line of the outline. Keys choose already how it will be shown. */
export function PendingRecord({ row: { type, name }, error, onRetry, onTab }: Props) {
  useTabKeys(onTab);
  const title = lineText(name || type, 120);
  return (
    <article className={styles.detail} aria-label={`${type} ${title}`} aria-busy={error === null}>
      <div className={styles.detailHead}>
        <KindMark kind={type} />
        <h2>{title}</h2>
      </div>
      {error ? <ErrorNote error={error} onRetry={onRetry} /> : <LoadingNote what="what it holds" />}
    </article>
  );
}
