import { type CSSProperties, memo, useState } from 'react';
import type { LogRecord } from '../data/records.ts';
import { Icon } from '../parts/Icon.tsx';
import { contentOf } from './cellContent.tsx';
import { conditionOf } from './cellFilter.ts';
import type { PlacedColumn } from './columnLayout.ts';
import styles from './RecordTable.module.css';
import { valueIn } from './recordColumns.ts';

interface Props {
  id: string;
  column: PlacedColumn;
  record: LogRecord;
  /** Keys act on it. */
  isActive: boolean;
  onFilter(condition: string): void;
}

/** One value of a record, on one line, with a button that filters by it. */
export const Cell = memo(function Cell({ id, column, record, isActive, onFilter }: Props) {
  const [isHovered, setHovered] = useState(false);
  const value = valueIn(record, column.id);
  const condition = isHovered || isActive ? conditionOf(column, value) : undefined;
  return (
    <div
      role="gridcell"
      dir="auto"
      id={id}
      className={column.isNumber ? `${styles.cell} number` : styles.cell}
      data-active={isActive || undefined}
      data-pinned={column.left === undefined ? undefined : true}
      style={leftOf(column)}
      onPointerEnter={() => setHovered(true)}
      onPointerLeave={() => setHovered(false)}
    >
      {contentOf(column, value)}
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
});

export const leftOf = ({ left }: PlacedColumn): CSSProperties | undefined => (left === undefined ? undefined : { left });
