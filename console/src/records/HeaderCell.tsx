import styles from './RecordTable.module.css';
import type { ShownColumn } from './recordColumns.ts';
import { sortOf, useRecordsAddress } from './useRecordsView.ts';

/** Sorts by its column: the largest first, then the smallest, then in the usual order. */
export function HeaderCell({ column: { id, label, isNumber, isSortable } }: { column: ShownColumn }) {
  const [address, change] = useRecordsAddress();
  const sort = sortOf(address.sort);
  const isChosen = sort?.column === id;
  const next = !isChosen ? `-${id}` : sort.ascending ? undefined : id;
  const sorted = !isChosen ? 'none' : sort.ascending ? 'ascending' : 'descending';
  return (
    <div role="columnheader" aria-sort={sorted} className={isNumber ? styles.numberHead : undefined} title={id}>
      {isSortable ? (
        <button type="button" onClick={() => change({ sort: next })}>
          {label}
          <span aria-hidden="true">{isChosen ? (sort.ascending ? ' ↑' : ' ↓') : ''}</span>
        </button>
      ) : (
        label
      )}
    </div>
  );
}
