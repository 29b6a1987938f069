import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import type { LogRecord, RecordKind } from '../data/records.ts';
import { usePreferences } from '../parts/preferences.ts';
import { Cell } from './Cell.tsx';
import { HeaderCell } from './HeaderCell.tsx';
import styles from './RecordTable.module.css';
import type { ShownColumn } from './recordColumns.ts';
import { useRecordsAddress } from './useRecordsView.ts';

interface Props {
  records: readonly LogRecord[];
  /** Of all that fit the filter; more of them are asked for at the end of those that are there. */
  total: number;
  columns: readonly ShownColumn[];
  projectId: string;
  kind: RecordKind;
  /** What is shown belongs to the question before. */
  isOld: boolean;
  onEnd(): void;
}

const HEIGHTS = { comfortable: 32, dense: 24 };

/** A grid of which only the rows in sight are on the page. */
export function RecordTable({ records, total, columns, kind, isOld, onEnd }: Props) {
  const [address, change] = useRecordsAddress();
  const { rows: size } = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const height = HEIGHTS[size];
  const rows = useVirtualizer({
    count: records.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    scrollPaddingStart: height,
    overscan: 12,
    getItemKey: (index) => records[index]?.id ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => rows.measure(), [height, rows]);
  const inSight = rows.getVirtualItems();
  const last = inSight.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= records.length - 20) onEnd();
  }, [last, records.length, onEnd]);

  const openAt = records.findIndex(({ id }) => id === address.open);
  useEffect(() => {
    if (openAt >= 0) rows.scrollToIndex(openAt, { align: 'auto' });
  }, [openAt, rows]);
  const open = (id: string) => change({ open: id }, { replace: address.open !== undefined });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const next = records[openAt < 0 ? 0 : openAt + step];
    if (step === 0 || !next) return;
    event.preventDefault();
    open(next.id);
  };
  const template = columns
    .map(({ width }, index) => (index === columns.length - 1 ? `minmax(${width}px, 1fr)` : `${width}px`))
    .join(' ');
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={kind}
      aria-rowcount={total + 1}
      aria-colcount={columns.length}
      aria-busy={isOld}
      tabIndex={0}
      className={styles.grid}
      onKeyDown={onKeyDown}
    >
      <div style={{ minWidth: width, height: rows.getTotalSize() + height }} className={styles.inner}>
        <div role="row" aria-rowindex={1} className={styles.head} style={{ gridTemplateColumns: template, height }}>
          {columns.map((column) => (
            <HeaderCell key={column.id} column={column} />
          ))}
        </div>
        {inSight.map(({ index, key, start }) => {
          const record = records[index] as LogRecord;
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={index === openAt}
              className={styles.row}
              style={{ gridTemplateColumns: template, height, transform: `translateY(${start}px)` }}
              onClick={() => open(record.id)}
            >
              {columns.map((column) => (
                <Cell key={column.id} column={column} record={record} />
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
