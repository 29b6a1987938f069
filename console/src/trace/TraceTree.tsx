import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { compactText, costText, durationText, lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { usePreferences } from '../parts/preferences.ts';
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

/** The tree of a trace with a bar for the time of each record. Only what is in sight is on the page. */
export function TraceTree({ rows, places, at, closed, found, onChoose, onToggle }: Props) {
  const { rows: size } = usePreferences();
  const height = size === 'dense' ? 24 : 32;
  const scroller = useRef<HTMLDivElement>(null);
  const whole = useMemo(() => spanOfTime(rows), [rows]);
  const list = useVirtualizer({
    count: places.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => list.measure(), [height, list]);
  const chosenAt = places.indexOf(at);
  useEffect(() => {
    if (chosenAt >= 0) list.scrollToIndex(chosenAt, { align: 'auto' });
  }, [chosenAt, list]);
  return (
    <div ref={scroller} role="treegrid" aria-label="Spans" aria-rowcount={places.length} tabIndex={0} className={styles.tree}>
      <div style={{ height: list.getTotalSize(), position: 'relative' }}>
        {list.getVirtualItems().map(({ index, start }) => {
          const place = places[index] as number;
          const row = rows[place] as OutlineRow;
          const { id, depth, size: below } = row;
          const isClosed = closed.has(id);
          return (
            <div
              key={id}
              role="row"
              aria-rowindex={index + 1}
              aria-level={depth + 1}
              aria-selected={place === at}
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
                <Name row={row} isFound={found.has(id)} />
                {isClosed && <span className="quiet">({below})</span>}
              </div>
              <TimeBar row={row} whole={whole} />
              <Figures row={row} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

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
