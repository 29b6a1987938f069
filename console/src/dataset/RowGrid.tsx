import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { DatasetRow } from '../data/datasetRows.ts';
import { usePreferences } from '../parts/preferences.ts';
import { useWidth } from '../parts/useWidth.ts';
import { CellEditor } from './CellEditor.tsx';
import { type GridRow, MARGIN, rowAt, textOf, widthsOf } from './gridRows.ts';
import styles from './RowGrid.module.css';
import { cellId, RowLine } from './RowLine.tsx';
import { type RowDraft, stepOf } from './useRowDraft.ts';

interface Props {
  columns: readonly string[];
  rows: ReadonlyMap<number, DatasetRow>;
  /** Rows of the version, without those that are new in the draft. */
  total: number;
  draft: RowDraft;
  /** Undefined where the account may only read, or an older version is shown. */
  chosen: { has(rowId: string): boolean; toggle(rowId: string): void } | undefined;
  onSight(from: number, to: number): void;
}

/** Browsers draw no element that is much higher. */
const MOST_PIXELS = 15_000_000;
const HEIGHTS = { comfortable: 32, dense: 24 };

/** The rows of a dataset, of which only those in sight are on the page. Cells are changed in place. */
export function RowGrid({ columns, rows, total, draft, chosen, onSight }: Props) {
  const { rows: size } = usePreferences();
  const height = HEIGHTS[size];
  const scroller = useRef<HTMLDivElement>(null);
  const available = useWidth(scroller);
  const widths = useMemo(() => widthsOf(columns, available), [columns, available]);
  const { typing } = draft.draft;
  const [active, setActive] = useState(() => ({
    row: typing?.index ?? 0,
    column: Math.max(0, columns.indexOf(typing?.column ?? '')),
  }));
  const [reading, setReading] = useState(false);
  const [awaited, setAwaited] = useState<{ index: number; column: number; first: string | undefined }>();
  const count = total + draft.result.added.length;
  const lines = useVirtualizer({
    count: Math.min(count, Math.floor(MOST_PIXELS / height)),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    scrollPaddingStart: height,
    overscan: 10,
  });
  const across = useVirtualizer({
    count: columns.length,
    horizontal: true,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => widths[index] ?? 0,
    paddingStart: MARGIN,
    scrollPaddingStart: MARGIN,
    overscan: 2,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other sizes are measured anew
  useEffect(() => {
    lines.measure();
    across.measure();
  }, [height, widths, lines, across]);
  const inSight = lines.getVirtualItems();
  const from = inSight[0]?.index ?? 0;
  const to = inSight.at(-1)?.index ?? 0;
  useEffect(() => onSight(from, to), [from, to, onSight]);
  // After a reload the grid scrolls to the row that the user was typing in.
  const typedAt = useRef(typing?.index);
  useEffect(() => {
    if (typedAt.current !== undefined) lines.scrollToIndex(typedAt.current);
    typedAt.current = undefined;
  }, [lines]);

  const at = (index: number): GridRow | undefined => rowAt(index, { rows, total, result: draft.result });
  const move = (row: number, column: number) => {
    const next = { row: clamp(row, count - 1), column: clamp(column, columns.length - 1) };
    setActive(next);
    setReading(false);
    setAwaited(undefined);
    lines.scrollToIndex(next.row);
    across.scrollToIndex(next.column);
  };
  const open = (index: number, column: number, first?: string) => {
    const row = at(index);
    const name = columns[column];
    if (name === undefined) return;
    setActive({ row: index, column });
    setAwaited(row ? undefined : { index, column, first });
    if (!row) return;
    if (!chosen || row.isRemoved) setReading(true);
    else draft.type({ rowId: row.rowId, index, column: name, text: first ?? textOf(row, name).text });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.altKey) return;
    const key = keyOf(event, { ...active, count, page: Math.floor(scroller.current.clientHeight / height) - 1 });
    if (key) move(key.row, key.column);
    else if (event.key === 'Enter' || event.key === 'F2') open(active.row, active.column);
    else if (chosen && (event.key === 'Delete' || event.key === 'Backspace')) clear();
    else if (chosen && event.key === ' ') toggle();
    else if (chosen && event.key.length === 1 && !event.ctrlKey && !event.metaKey)
      open(active.row, active.column, (awaited?.first ?? '') + event.key);
    else return;
    event.preventDefault();
  };
  const clear = () => {
    const row = at(active.row);
    const name = columns[active.column];
    const step = row && name !== undefined && !row.isRemoved ? stepOf(row.rowId, name, '', textOf(row, name)) : undefined;
    if (step) draft.take(step);
  };
  const toggle = () => {
    const row = at(active.row);
    if (row) chosen?.toggle(row.rowId);
  };
  // A cell that is opened before its row is loaded opens when the row comes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: opened once, when the row comes
  useEffect(() => {
    if (awaited && rows.has(awaited.index)) open(awaited.index, awaited.column, awaited.first);
  }, [awaited, rows]);
  const cells = across.getVirtualItems();
  const openAt = typing ? { row: typing.index, column: columns.indexOf(typing.column) } : reading ? active : undefined;
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label="Rows"
      aria-rowcount={count + 1}
      aria-colcount={columns.length + 2}
      aria-readonly={!chosen}
      aria-activedescendant={count > 0 ? cellId(active.row, active.column) : undefined}
      tabIndex={0}
      className={styles.grid}
      onKeyDown={onKeyDown}
    >
      <div
        className={styles.inner}
        style={{ width: Math.max(across.getTotalSize(), available), height: lines.getTotalSize() + height }}
      >
        <div role="row" aria-rowindex={1} className={styles.head} style={{ height }}>
          <div role="columnheader" aria-colindex={1} className={styles.margin}>
            <span className="only-read">Chosen and number</span>
          </div>
          {cells.map(({ index, start, size: width }) => (
            <div
              key={columns[index]}
              role="columnheader"
              aria-colindex={index + 2}
              style={{ left: start, width }}
              className={styles.name}
            >
              {columns[index]}
              {MEANING[columns[index] ?? ''] && <span className="quiet"> {MEANING[columns[index] ?? '']}</span>}
            </div>
          ))}
        </div>
        {inSight.map(({ index, start }) => (
          <RowLine
            key={index}
            row={at(index)}
            {...{ index, columns, cells, chosen, height }}
            top={start + height}
            active={index === active.row ? active.column : undefined}
            onOpen={open}
            onActive={(column) => {
              setActive({ row: index, column });
              setReading(false);
              setAwaited(undefined);
            }}
          />
        ))}
        {openAt && (
          <CellEditor
            key={`${openAt.row} ${openAt.column}`}
            row={at(openAt.row)}
            column={columns[openAt.column] ?? ''}
            draft={draft}
            isReadOnly={!typing}
            place={{
              top: (openAt.row + 1) * height,
              left: across.measurementsCache[openAt.column]?.start ?? MARGIN,
              width: Math.max(widths[openAt.column] ?? 0, 320),
              most: available - MARGIN,
            }}
            onEnd={(row, column) => {
              scroller.current?.focus({ preventScroll: true });
              setReading(false);
              move(active.row + row, active.column + column);
            }}
          />
        )}
      </div>
    </div>
  );
}

/** The meaning that columns have for experiments. */
const MEANING: Record<string, string> = { output: 'reference', generated_output: 'to score' };

const clamp = (value: number, most: number): number => Math.max(0, Math.min(most, value));

/** Where a key leads from a cell; undefined for other keys. */
function keyOf(
  { key, ctrlKey, metaKey }: KeyboardEvent,
  { row, column, count, page }: { row: number; column: number; count: number; page: number },
): { row: number; column: number } | undefined {
  if (ctrlKey || metaKey) return key === 'Home' ? { row: 0, column } : key === 'End' ? { row: count - 1, column } : undefined;
  const rows: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
  const columns: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
  if (rows[key] === undefined && columns[key] === undefined) return undefined;
  return { row: row + (rows[key] ?? 0), column: column + (columns[key] ?? 0) };
}
