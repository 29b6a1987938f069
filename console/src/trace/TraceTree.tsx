import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useMemo, useRef } from 'react';
import { compactText, costText, durationText, lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { usePreferences } from '../parts/preferences.ts';
import { scrollToRow } from '../parts/scrollToRow.ts';
import { useRowElement } from '../parts/useRowElement.ts';
import { REST_MS, useRowSlots } from '../parts/useRowSlots.ts';
import { type OutlineRow, spanOfTime } from './outline.ts';
import styles from './TraceTree.module.css';

interface Props {
  rows: readonly OutlineRow[];
  /** Places of those that are open to be seen. */
  places: readonly number[];
  /** Place of the chosen one. */
  at: number;
  closed: ReadonlySet<string>;
  /** Ids of those that have the text that is looked for. */
  found: ReadonlySet<string>;
  onChoose(place: number): void;
  onToggle(id: string, isClosed: boolean): void;
}

const OVERSCAN = 12;

/** The tree of a trace with a bar for the time of each record. Only what is in sight is on the page. */
export const TraceTree = memo(function TraceTree({ rows, places, at, closed, found, onChoose, onToggle }: Props) {
  const { rows: size } = usePreferences();
  const height = size === 'dense' ? 24 : 32;
  const scroller = useRef<HTMLDivElement>(null);
  const whole = useMemo(() => spanOfTime(rows), [rows]);
  const list = useVirtualizer({
    count: places.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
    isScrollingResetDelay: REST_MS,
  });
  const slots = useRowSlots(list, height);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => list.measure(), [height, list]);
  const chosenAt = places.indexOf(at);
  useEffect(() => {
    if (chosenAt >= 0) scrollToRow(list, chosenAt, height);
  }, [chosenAt, list, height]);
  return (
    <div ref={scroller} role="treegrid" aria-label="Spans" aria-rowcount={places.length} tabIndex={0} className={styles.tree}>
      <div style={{ height: list.getTotalSize(), position: 'relative' }}>
        {slots.map(({ index, start, slot }) => {
          const place = places[index] as number;
          const row = rows[place] as OutlineRow;
          return (
            <TreeRow
              key={slot}
              {...{ row, place, index, height, start, whole, onChoose, onToggle }}
              isChosen={place === at}
              isClosed={closed.has(row.id)}
              isFound={found.has(row.id)}
            />
          );
        })}
      </div>
    </div>
  );
});

interface RowProps extends Pick<Props, 'onChoose' | 'onToggle'> {
  row: OutlineRow;
  place: number;
  index: number;
  /** Pixels. */
  height: number;
  start: number;
  /** Milliseconds of the whole trace. */
  whole: number;
  isChosen: boolean;
  isClosed: boolean;
  isFound: boolean;
}

const TreeRow = memo(function TreeRow(props: RowProps) {
  const { row, place, index, height, start, whole, isChosen, isClosed, isFound, onChoose, onToggle } = props;
  const { id, depth, size: below } = row;
  const element = useRowElement(id);
  return (
    <div
      ref={element}
      role="row"
      aria-rowindex={index + 1}
      aria-level={depth + 1}
      aria-selected={isChosen}
      {...(below > 0 ? { 'aria-expanded': !isClosed } : {})}
      tabIndex={-1}
      className={styles.row}
      style={{ height, transform: `translateY(${start}px)` }}
      onClick={() => onChoose(place)}
    >
      <div role="gridcell" className={styles.name} style={{ paddingLeft: 8 + Math.min(depth, 24) * 12 }}>
        {below > 0 ? (
          <button
            type="button"
            tabIndex={-1}
            aria-label={isClosed ? 'Open' : 'Close'}
            onClick={(event) => {
              event.stopPropagation();
              onToggle(id, !isClosed);
            }}
          >
            {isClosed ? '▸' : '▾'}
          </button>
        ) : (
          <span className={styles.noToggle} />
        )}
        <Name row={row} isFound={isFound} />
        {isClosed && <span className="quiet">({below})</span>}
      </div>
      <TimeBar row={row} whole={whole} />
      <Figures row={row} />
    </div>
  );
});

function Name({ row: { type, name, isFailed }, isFound }: { row: OutlineRow; isFound: boolean }) {
  const text = lineText(name || type, 120);
  return (
    <>
      <KindMark kind={type} />
      <span className={isFailed ? 'bad one-line' : 'one-line'}>{isFound ? <mark>{text}</mark> : text}</span>
    </>
  );
}

function TimeBar({ row: { type, start, durationMs }, whole }: { row: OutlineRow; whole: number }) {
  const left = Math.min(99.5, Math.max(0, (start / whole) * 100));
  const width = Math.min(100 - left, ((durationMs ?? 0) / whole) * 100);
  return (
    <div role="gridcell" className={styles.time}>
      <span className={styles.bar} data-kind={type} style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} />
    </div>
  );
}

function Figures({ row: { durationMs, tokens, cost } }: { row: OutlineRow }) {
  return (
    <>
      <div role="gridcell" className={styles.figure}>
        {durationText(durationMs === undefined ? undefined : durationMs * 1e6)}
      </div>
      <div role="gridcell" className={`${styles.figure} ${styles.usage}`}>
        {tokens !== undefined && `${compactText(tokens)} tok`}
      </div>
      <div role="gridcell" className={`${styles.figure} ${styles.usage}`}>
        {cost !== undefined && costText(cost)}
      </div>
    </>
  );
}
