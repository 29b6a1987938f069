import type { VirtualItem } from '@tanstack/react-virtual';
import { countText } from '../parts/format.ts';
import { type GridRow, isEmptyLine, lineOf } from './gridRows.ts';
import styles from './RowGrid.module.css';

interface Props {
  /** Undefined where it is not loaded. */
  row: GridRow | undefined;
  index: number;
  columns: readonly string[];
  /** The columns in sight. */
  cells: readonly VirtualItem[];
  chosen: { has(rowId: string): boolean; toggle(rowId: string): void } | undefined;
  height: number;
  top: number;
  active: number | undefined;
  onActive(column: number): void;
  onOpen(index: number, column: number): void;
}

/** The id of a cell's element. */
export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

/** One row of the grid. A new, changed or removed one says so. */
export function RowLine({ row, index, columns, cells, chosen, height, top, active, onActive, onOpen }: Props) {
  const state = stateOf(row);
  const number = countText(index + 1);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen ? row !== undefined && chosen.has(row.rowId) : undefined}
      className={styles.row}
      data-state={state}
      style={{ top, height }}
    >
      <div role="rowheader" aria-colindex={1} className={styles.margin}>
        {chosen && row ? (
          <label className={styles.choice}>
            <input
              type="checkbox"
              aria-label={`Choose row ${number}`}
              checked={chosen.has(row.rowId)}
              onChange={() => chosen.toggle(row.rowId)}
            />
          </label>
        ) : (
          <span />
        )}
        <span className="number quiet">
          {number}
          {state && <span className="only-read"> {state}</span>}
        </span>
      </div>
      {cells.map(({ index: column, start, size }) => {
        const name = columns[column] ?? '';
        const line = row ? lineOf(row, name) : '';
        return (
          <div
            key={name}
            role="gridcell"
            id={cellId(index, column)}
            aria-colindex={column + 2}
            className={styles.cell}
            style={{ left: start, width: size }}
            data-active={column === active}
            data-changed={row?.typed[name] !== undefined && row.stored !== undefined}
            data-empty={isEmptyLine(line)}
            onClick={() => onActive(column)}
            onDoubleClick={() => onOpen(index, column)}
          >
            {line}
          </div>
        );
      })}
    </div>
  );
}

function stateOf(row: GridRow | undefined): 'new' | 'removed' | 'changed' | undefined {
  if (!row) return undefined;
  if (!row.stored) return 'new';
  if (row.isRemoved) return 'removed';
  return Object.keys(row.typed).length > 0 ? 'changed' : undefined;
}
