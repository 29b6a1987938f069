import { memo, type PointerEvent, useState } from 'react';
import type { LogRecord } from '../data/records.ts';
import type { Preferences } from '../parts/preferences.ts';
import { useRowElement } from '../parts/useRowElement.ts';
import { cellOf } from './Cell.tsx';
import { contentOf } from './cellContent.tsx';
import type { PlacedColumn } from './columnLayout.ts';
import styles from './RecordTable.module.css';
import { valueIn } from './recordColumns.ts';

export interface RowActions {
  onOpen(id: string): void;
  /** Chooses a record for what is done with several; with `toHere` all from the one chosen last. */
  onChoose(id: string, toHere: boolean): void;
  onFilter(condition: string): void;
}

interface Props extends RowActions {
  /** Undefined while it is being loaded. */
  record: LogRecord | undefined;
  index: number;
  columns: readonly PlacedColumn[];
  zone: Preferences['zone'];
  /** Pixels. */
  height: number;
  start: number;
  isOpen: boolean;
  isChosen: boolean;
  /** The column that keys act on, in the open row. */
  activeColumn: number | undefined;
}

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

/** One record of the table. It keeps its cells while another one is being loaded for it, as they take three times as long to build as to fill. */
export const RecordRow = memo(function RecordRow(props: Props) {
  const { record, index, columns, zone, height, start, isOpen, isChosen, activeColumn, onOpen, onChoose, onFilter } = props;
  const [hovered, setHovered] = useState<string>();
  const row = useRowElement(record?.id);
  return (
    <div
      ref={row}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      className={styles.row}
      data-chosen={isChosen || undefined}
      style={{ height, transform: `translateY(${start}px)` }}
      onClick={() => record && onOpen(record.id)}
      // Not what the pointer is over while it rests: the rows that pass below it would each be built with a button.
      onPointerMove={(event) => setHovered(cellId(index, columnAt(event)))}
      onPointerLeave={() => setHovered(undefined)}
    >
      <div role="gridcell" className={styles.choice} data-pinned>
        {/* It stays, unseen, while another record is being loaded: with it the focus would go before the row can hand it to the table. */}
        <input
          type="checkbox"
          tabIndex={-1}
          aria-hidden={record === undefined || undefined}
          aria-label={record && `Choose ${String(record.name ?? record.type)}`}
          checked={isChosen}
          onChange={() => undefined}
          onClick={(event) => {
            event.stopPropagation();
            if (record) onChoose(record.id, event.shiftKey);
          }}
        />
      </div>
      {columns.map((column, at) => {
        const id = cellId(index, at);
        const value = record && valueIn(record, column.id);
        const content = record ? contentOf(column, value, zone) : at === 0 && '…';
        const isActive = isOpen && at === activeColumn;
        const hasFilter = record !== undefined && (isActive || hovered === id);
        return cellOf({ id: isActive ? id : undefined, column, value, content, isActive, hasFilter, onFilter });
      })}
    </div>
  );
});

/** The number of the column that the pointer is over; negative over none. The first cell holds the choice. */
const columnAt = ({ target, currentTarget }: PointerEvent): number =>
  [...currentTarget.children].findIndex((cell) => cell.contains(target as Element)) - 1;
