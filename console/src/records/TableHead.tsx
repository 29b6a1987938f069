import { memo } from 'react';
import { movedTo, type PlacedColumn } from './columnLayout.ts';
import { HeaderCell } from './HeaderCell.tsx';
import styles from './RecordTable.module.css';
import { sortOf, useChangeAddress, useInAddress } from './useRecordsView.ts';

interface Props {
  columns: readonly PlacedColumn[];
  /** Pixels. */
  height: number;
  /** All records that are loaded are chosen. */
  isChosen: boolean;
  onChoose(): void;
}

/** The names of the columns, and what is done with a column. It is not built anew while the rows below it move. */
export const TableHead = memo(function TableHead({ columns, height, isChosen, onChoose }: Props) {
  const sort = sortOf(useInAddress('sort'));
  const change = useChangeAddress();
  const onSort = (wanted: string | undefined) => change({ sort: wanted });
  const onDropped = (id: string, target: string) =>
    change(
      {
        cols: movedTo(
          columns.map((one) => one.id),
          id,
          target,
        ),
      },
      { replace: true },
    );
  return (
    <div role="row" aria-rowindex={1} className={styles.head} style={{ height }}>
      <div role="columnheader" className={styles.choice} data-pinned>
        <input type="checkbox" aria-label="Choose all that are loaded" checked={isChosen} onChange={onChoose} />
      </div>
      {columns.map((column) => (
        <HeaderCell key={column.id} {...{ column, sort, onSort, onDropped }} />
      ))}
    </div>
  );
});
