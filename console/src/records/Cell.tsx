import type { CSSProperties, ReactNode } from 'react';
import { Icon } from '../parts/Icon.tsx';
import { conditionOf } from './cellFilter.ts';
import type { PlacedColumn } from './columnLayout.ts';
import styles from './RecordTable.module.css';

interface Shown {
  /** Only that of the cell which keys act on is referred to. */
  id: string | undefined;
  column: PlacedColumn;
  value: unknown;
  content: ReactNode;
  /** Keys act on it. */
  isActive: boolean;
  /** It has a button that filters by its value. */
  hasFilter: boolean;
  onFilter(condition: string): void;
}

/**
 * Returns one value of a record, on one line. It is no component: hundreds are filled with each turn of a wheel, and as components they take twice as long.
 */
export function cellOf({ id, column, value, content, isActive, hasFilter, onFilter }: Shown): ReactNode {
  const condition = hasFilter ? conditionOf(column, value) : undefined;
  return (
    <div
      key={column.id}
      role="gridcell"
      dir="auto"
      id={id}
      className={column.isNumber ? `${styles.cell} number` : styles.cell}
      data-active={isActive || undefined}
      data-pinned={column.left === undefined ? undefined : true}
      style={leftOf(column)}
    >
      {content}
      {condition !== undefined && (
        <button
          type="button"
          tabIndex={-1}
          className={styles.only}
          aria-label={`Only ${condition}`}
          title={`Only ${condition} (f); without these: Shift`}
          onClick={(event) => {
            event.stopPropagation();
            onFilter(event.shiftKey ? (conditionOf(column, value, { isExcluded: true }) ?? condition) : condition);
          }}
        >
          <Icon name="filter" />
        </button>
      )}
    </div>
  );
}

export const leftOf = ({ left }: PlacedColumn): CSSProperties | undefined => (left === undefined ? undefined : { left });
