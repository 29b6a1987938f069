import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { LogRecord, RecordKind } from '../data/records.ts';
import { usePreferences } from '../parts/preferences.ts';
import { scrollToRow } from '../parts/scrollToRow.ts';
import { useKeys } from '../parts/useKeys.ts';
import { REST_MS, useRowSlots } from '../parts/useRowSlots.ts';
import { useSteady } from '../parts/useSteady.ts';
import { conditionOf } from './cellFilter.ts';
import { placed, templateOf, widthOf } from './columnLayout.ts';
import type { Rows } from './loadedRows.ts';
import { cellId, RecordRow, type RowActions } from './RecordRow.tsx';
import styles from './RecordTable.module.css';
import { type ShownColumn, valueIn } from './recordColumns.ts';
import { TableHead } from './TableHead.tsx';
import type { Choice } from './useChoice.ts';
import { useInAddress } from './useRecordsView.ts';

interface Props extends RowActions {
  rows: Rows;
  /** The number of all records that fit the filter. */
  total: number;
  columns: readonly ShownColumn[];
  kind: RecordKind;
  choice: Choice;
  /** The rows shown still answer the question before. */
  isOld: boolean;
  /** Enter on the open record. */
  onEnter(record: LogRecord): void;
  /** Rows from the one number up to the other are in sight, or nearly. */
  onSight(from: number, to: number): void;
}

/** Browsers draw no element that is much higher. */
const MOST_PIXELS = 15_000_000;
const HEIGHTS = { comfortable: 32, dense: 24 };
const OVERSCAN = 6;

/** A grid of which only the rows in sight are on the page. */
export function RecordTable({ rows, total, columns: shown, kind, choice, isOld, onSight, onEnter, ...actions }: Props) {
  const open = useInAddress('open');
  const pin = useInAddress('pin');
  const { rows: size, widths, zone } = usePreferences();
  const [isShifted, setShifted] = useState(false);
  const [activeColumn, setActiveColumn] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const height = HEIGHTS[size];
  const list = useVirtualizer({
    count: Math.min(rows.length, Math.floor(MOST_PIXELS / height)),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    scrollPaddingStart: height,
    overscan: OVERSCAN,
    isScrollingResetDelay: REST_MS,
  });
  // The most that it ever had: rows are not filled anew when the panel takes some of it.
  const widest = useRef(0);
  widest.current = Math.max(widest.current, list.scrollRect?.width ?? 0);
  const room = widest.current;
  const columns = useMemo(() => placed(shown, pin ?? [], widths, room), [shown, pin, widths, room]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => list.measure(), [height, list]);
  const inSight = list.getVirtualItems();
  const slots = useRowSlots(list, height);
  const from = inSight[0]?.index ?? 0;
  const to = inSight.at(-1)?.index ?? 0;
  useEffect(() => onSight(from, to), [from, to, onSight]);

  const openAt = rows.placeOf(open);
  useEffect(() => {
    if (openAt >= 0) scrollToRow(list, openAt, height);
  }, [openAt, list, height]);
  const [goal, setGoal] = useState<number>();
  const atGoal = goal === undefined ? undefined : rows.at(goal);
  const { onOpen } = actions;
  useEffect(() => {
    if (!atGoal) return;
    setGoal(undefined);
    onOpen(atGoal.id);
  }, [atGoal, onOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const record = rows.at(openAt);
    if (event.key === 'Enter' && record) onEnter(record);
    const down = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const jump = openAt < 0 ? undefined : jumpOf(event.key, openAt, Math.floor(scroller.current.clientHeight / height) - 1);
    if (jump !== undefined) {
      event.preventDefault();
      const at = Math.min(list.options.count - 1, Math.max(0, jump));
      list.scrollToIndex(at);
      setGoal(at);
      return;
    }
    const right = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (down === 0 && right === 0) return;
    event.preventDefault();
    const next = rows.at(openAt < 0 ? 0 : openAt + down);
    if (down !== 0 && next) actions.onOpen(next.id);
    if (right !== 0) setActiveColumn(Math.min(columns.length - 1, Math.max(0, (activeColumn ?? -1) + right)));
  };
  const filterByActive = (isExcluded: boolean) => {
    const column = columns[activeColumn ?? -1];
    const record = rows.at(openAt);
    const condition = column && record && conditionOf(column, valueIn(record, column.id), { isExcluded });
    if (condition !== undefined) actions.onFilter(condition);
  };
  useKeys({ f: () => filterByActive(false), F: () => filterByActive(true) });
  const loaded = useMemo(() => rows.loaded.map(({ id }) => id), [rows]);
  const loadedAll = loaded.length > 0 && loaded.every((id) => choice.has(id));
  const chooseLoaded = useSteady(() => (loadedAll ? choice.clear() : choice.set(loaded)));
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
      data-shifted={isShifted || undefined}
      style={{ '--columns': templateOf(columns) } as CSSProperties}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => setShifted(currentTarget.scrollLeft > 0)}
    >
      <div style={{ minWidth: widthOf(columns), height: list.getTotalSize() + height }} className={styles.inner}>
        <TableHead {...{ columns, height }} isChosen={loadedAll} onChoose={chooseLoaded} />
        {slots.map(({ index, start, slot }) => {
          const record = rows.at(index);
          return (
            <RecordRow
              key={slot}
              {...{ record, index, columns, zone, height, start }}
              {...actions}
              isOpen={index === openAt}
              isChosen={record !== undefined && choice.has(record.id)}
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
