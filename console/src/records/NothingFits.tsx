import styles from './RecordsPage.module.css';
import { useRecordsAddress } from './useRecordsView.ts';

/** In place of a table whose filter fits no record. */
export function NothingFits({ kind }: { kind: string }) {
  const [, change] = useRecordsAddress();
  return (
    <p className={styles.nothing}>
      No {kind} fit this filter.{' '}
      <button type="button" onClick={() => change({ q: undefined, from: undefined, to: undefined })}>
        Show all
      </button>
    </p>
  );
}
