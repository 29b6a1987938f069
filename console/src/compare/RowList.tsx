import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import type { ComparedRow, Comparison } from '../data/comparison.ts';
import styles from './ComparedRows.module.css';
import { idOf, inputLine, valuesText } from './comparedRow.ts';

interface Props {
  rows: readonly ComparedRow[];
  comparison: Comparison;
  /** Place of the open row. */
  at: number;
  hasMore: boolean;
  onMore(): void;
  onOpen(id: string): void;
}

/** Pixels of a row. */
const HEIGHT = 52;

/** The rows by their input, with the value of each side. More are loaded where the list ends. */
export function RowList({ rows, comparison, at, hasMore, onMore, onOpen }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
  });
  const inSight = list.getVirtualItems();
  const last = inSight.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - 10) onMore();
  }, [hasMore, last, rows.length, onMore]);
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at, { align: 'auto' });
  }, [at, list]);
  return (
    <div ref={scroller} className={styles.list}>
      <ul aria-label="Compared rows" style={{ height: list.getTotalSize() }}>
        {inSight.map(({ index, start }) => {
          const row = rows[index] as ComparedRow;
          const id = idOf(row);
          return (
            <li
              key={id ?? index}
              style={{ transform: `translateY(${start}px)` }}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
            >
              <button type="button" aria-current={index === at} onClick={() => id !== undefined && onOpen(id)}>
                <span className="one-line">{inputLine(row)}</span>
                <span className={styles.values}>
                  {valuesText(row.baseline, comparison)} → {valuesText(row.experiment, comparison)}
                  {[...row.baseline, ...row.experiment].some(({ error_message }) => error_message !== '') && (
                    <span className="bad"> failed</span>
                  )}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
