import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { LogRecord, RecordKind } from '../data/records.ts';
import { usePreferences } from '../parts/preferences.ts';
import { useKeys } from '../parts/useKeys.ts';
import { conditionOf } from './cellFilter.ts';
import { movedTo, placed, templateOf, widthOf } from './columnLayout.ts';
import { HeaderCell } from './HeaderCell.tsx';
import { cellId, RecordRow, type RowActions, WaitingRow } from './RecordRow.tsx';
import styles from './RecordTable.module.css';
import { type ShownColumn, valueIn } from './recordColumns.ts';
import type { Choice } from './useChoice.ts';
import { placeOf } from './useFarRecords.ts';
import { useRecordsAddress } from './useRecordsView.ts';

interface Props extends RowActions {
  /** In their order; undefined where one is not loaded. */
  records: readonly (LogRecord | undefined)[];
  /** Of all that fit the filter. */
  total: number;
  columns: readonly ShownColumn[];
  kind: RecordKind;
  choice: Choice;
  /** What is shown belongs to the question before. */
  isOld: boolean;
  /** Rows from the one number up to the other are in sight, or nearly. */
  onSight(from: number, to: number): void;
}

/** Browsers draw no element that is much higher. */
const MOST_PIXELS = 15_000_000;
const HEIGHTS = { comfortable: 32, dense: 24 };

/** A grid of which only the rows in sight are on the page. */
export function RecordTable({ records, total, columns: shown, kind, choice, isOld, onSight, ...actions }: Props) {
  const [address, change] = useRecordsAddress();
  const { rows: size, widths } = usePreferences();
  const [activeColumn, setActiveColumn] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const height = HEIGHTS[size];
  const columns = useMemo(() => placed(shown, address.pin ?? [], widths), [shown, address.pin, widths]);
  const rows = useVirtualizer({
    count: Math.min(records.length, Math.floor(MOST_PIXELS / height)),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    scrollPaddingStart: height,
    overscan: 12,
    getItemKey: (index) => records[index]?.id ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => rows.measure(), [height, rows]);
  const inSight = rows.getVirtualItems();
  const from = inSight[0]?.index ?? 0;
  const to = inSight.at(-1)?.index ?? 0;
  useEffect(() => onSight(from, to), [from, to, onSight]);

  const openAt = useMemo(() => placeOf(records, address.open), [records, address.open]);
  useEffect(() => {
    if (openAt >= 0) rows.scrollToIndex(openAt, { align: 'auto' });
  }, [openAt, rows]);
  const [goal, setGoal] = useState<number>();
  const atGoal = goal === undefined ? undefined : records[goal];
  const { onOpen } = actions;
  useEffect(() => {
    if (!atGoal) return;
    setGoal(undefined);
    onOpen(atGoal.id);
  }, [atGoal, onOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const down = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const jump = openAt < 0 ? undefined : jumpOf(event.key, openAt, Math.floor(scroller.current.clientHeight / height) - 1);
    if (jump !== undefined) {
      event.preventDefault();
      const at = Math.min(rows.options.count - 1, Math.max(0, jump));
      rows.scrollToIndex(at);
      setGoal(at);
      return;
    }
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
  const loaded = useMemo(() => records.flatMap((one) => one?.id ?? []), [records]);
  const loadedAll = loaded.length > 0 && loaded.every((id) => choice.has(id));
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
              onChange={() => (loadedAll ? choice.clear() : choice.set(loaded))}
            />
          </div>
          {columns.map((column) => (
            <HeaderCell key={column.id} column={column} onDropped={(id) => drop(id, column.id)} />
          ))}
        </div>
        {inSight.map(({ index, key, start }) => {
          const record = records[index];
          if (!record) return <WaitingRow key={key} {...{ index, height, start }} />;
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

/** Where a key leads from a row: to an end, or by a page. Undefined for other keys. */
function jumpOf(key: string, from: number, page: number): number | undefined {
  if (key === 'Home') return 0;
  if (key === 'End') return Number.POSITIVE_INFINITY;
  if (key === 'PageDown') return from + page;
  return key === 'PageUp' ? from - page : undefined;
}
