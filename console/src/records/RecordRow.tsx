import { memo } from 'react';
import type { LogRecord } from '../data/records.ts';
import { Cell } from './Cell.tsx';
import type { PlacedColumn } from './columnLayout.ts';
import styles from './RecordTable.module.css';

export interface RowActions {
  onOpen(id: string): void;
  /** Chooses a record for what is done with several; with `toHere` all from the one chosen last. */
  onChoose(id: string, toHere: boolean): void;
  onFilter(condition: string): void;
}

interface Props extends RowActions {
  record: LogRecord;
  index: number;
  columns: readonly PlacedColumn[];
  /** Pixels. */
  height: number;
  start: number;
  isOpen: boolean;
  isChosen: boolean;
  /** The column that keys act on, in the open row. */
  activeColumn: number | undefined;
}

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

/** One record of the table. */
export const RecordRow = memo(function RecordRow(props: Props) {
  const { record, index, columns, height, start, isOpen, isChosen, activeColumn, onOpen, onChoose, onFilter } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      className={styles.row}
      data-chosen={isChosen || undefined}
      style={{ height, transform: `translateY(${start}px)` }}
      onClick={() => onOpen(record.id)}
    >
      <div role="gridcell" className={styles.choice} data-pinned>
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Choose ${String(record.name ?? record.type)}`}
          checked={isChosen}
          onChange={() => undefined}
          onClick={(event) => {
            event.stopPropagation();
            onChoose(record.id, event.shiftKey);
          }}
        />
      </div>
      {columns.map((column, at) => (
        <Cell key={column.id} id={cellId(index, at)} {...{ column, record, onFilter }} isActive={isOpen && at === activeColumn} />
      ))}
    </div>
  );
});

/** A record that is being loaded. */
export const WaitingRow = ({ index, height, start }: Pick<Props, 'index' | 'height' | 'start'>) => (
  <div role="row" aria-rowindex={index + 2} className={styles.row} style={{ height, transform: `translateY(${start}px)` }}>
    <div role="gridcell" className="quiet">
      …
    </div>
  </div>
);
