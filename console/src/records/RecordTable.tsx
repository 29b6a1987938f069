import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { LogRecord, RecordKind } from '../data/records.ts';
import { usePreferences } from '../parts/preferences.ts';
import { useKeys } from '../parts/useKeys.ts';
import { conditionOf } from './cellFilter.ts';
import { movedTo, placed, templateOf, widthOf } from './columnLayout.ts';
import { HeaderCell } from './HeaderCell.tsx';
import { cellId, RecordRow, type RowActions } from './RecordRow.tsx';
import styles from './RecordTable.module.css';
import { type ShownColumn, valueIn } from './recordColumns.ts';
import type { Choice } from './useChoice.ts';
import { useRecordsAddress } from './useRecordsView.ts';

interface Props extends RowActions {
  records: readonly LogRecord[];
  /** Of all that fit the filter; more of them are asked for at the end of those that are there. */
  total: number;
  columns: readonly ShownColumn[];
  kind: RecordKind;
  choice: Choice;
  /** What is shown belongs to the question before. */
  isOld: boolean;
  onEnd(): void;
}

const HEIGHTS = { comfortable: 32, dense: 24 };

/** A grid of which only the rows in sight are on the page. */
export function RecordTable({ records, total, columns: shown, kind, choice, isOld, onEnd, ...actions }: Props) {
  const [address, change] = useRecordsAddress();
  const { rows: size, widths } = usePreferences();
  const [activeColumn, setActiveColumn] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const height = HEIGHTS[size];
  const columns = useMemo(() => placed(shown, address.pin ?? [], widths), [shown, address.pin, widths]);
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

  const openAt = useMemo(() => records.findIndex(({ id }) => id === address.open), [records, address.open]);
  useEffect(() => {
    if (openAt >= 0) rows.scrollToIndex(openAt, { align: 'auto' });
  }, [openAt, rows]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const down = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const right = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (down === 0 && right === 0) return;
    event.preventDefault();
    const next = records[openAt < 0 ? 0 : openAt + down];
    if (down !== 0 && next) actions.onOpen(next.id);
    if (right !== 0) setActiveColumn(Math.min(columns.length - 1, Math.max(0, (activeColumn ?? -1) + right)));
  };
  const filterByActive = (isExcluded: boolean) => {
    const column = columns[activeColumn ?? -1];
    const record = records[openAt];
    const condition = column && record && conditionOf(column, valueIn(record, column.id), { isExcluded });
    if (condition !== undefined) actions.onFilter(condition);
  };
  useKeys({ f: () => filterByActive(false), F: () => filterByActive(true) });
  const drop = (id: string, target: string) =>
    change(
      {
        cols: movedTo(
          columns.map((column) => column.id),
          id,
          target,
        ),
      },
      { replace: true },
    );
  const loadedAll = records.length > 0 && records.every(({ id }) => choice.has(id));
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={kind}
      aria-rowcount={total + 1}
      aria-colcount={columns.length + 1}
      aria-busy={isOld}
      aria-activedescendant={openAt >= 0 && activeColumn !== undefined ? cellId(openAt, activeColumn) : undefined}
      tabIndex={0}
      className={styles.grid}
      style={{ '--columns': templateOf(columns) } as CSSProperties}
      onKeyDown={onKeyDown}
    >
      <div style={{ minWidth: widthOf(columns), height: rows.getTotalSize() + height }} className={styles.inner}>
        <div role="row" aria-rowindex={1} className={styles.head} style={{ height }}>
          <div role="columnheader" className={styles.choice} data-pinned>
            <input
              type="checkbox"
              aria-label="Choose all that are loaded"
              checked={loadedAll}
              onChange={() => (loadedAll ? choice.clear() : choice.set(records.map(({ id }) => id)))}
            />
          </div>
          {columns.map((column) => (
            <HeaderCell key={column.id} column={column} onDropped={(id) => drop(id, column.id)} />
          ))}
        </div>
        {inSight.map(({ index, key, start }) => {
          const record = records[index] as LogRecord;
          return (
            <RecordRow
              key={key}
              {...{ record, index, columns, height, start }}
              {...actions}
              isOpen={index === openAt}
              isChosen={choice.has(record.id)}
              activeColumn={index === openAt ? activeColumn : undefined}
            />
          );
        })}
      </div>
    </div>
  );
}
