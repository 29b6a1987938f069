import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { durationText, lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { usePreferences } from '../parts/preferences.ts';
import { type OutlineRow, spanOfTime } from './outline.ts';
import styles from './TracePage.module.css';

interface Props {
  rows: readonly OutlineRow[];
  /** Places of those that are open to be seen. */
  places: readonly number[];
  /** Place of the chosen one. */
  at: number;
  closed: ReadonlySet<string>;
  onChoose(place: number): void;
  onToggle(id: string, isClosed: boolean): void;
}

/** The tree of a trace with a bar for the time of each record. Only what is in sight is on the page. */
export function TraceTree({ rows, places, at, closed, onChoose, onToggle }: Props) {
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
          const { node, depth, size: below, isFailed } = row;
          const isClosed = closed.has(node.id);
          return (
            <div
              key={node.id}
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
                      onToggle(node.id, !isClosed);
                    }}
                  >
                    {isClosed ? '▸' : '▾'}
                  </button>
                ) : (
                  <span className={styles.noToggle} />
                )}
                <KindMark kind={node.type} />
                <span className={isFailed ? 'bad one-line' : 'one-line'}>{lineText(node.name ?? node.type, 120)}</span>
                {isClosed && <span className="quiet">({below})</span>}
              </div>
              <TimeBar row={row} whole={whole} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function TimeBar({ row: { node, start, durationMs }, whole }: { row: OutlineRow; whole: number }) {
  const left = Math.min(99.5, Math.max(0, ((start ?? 0) / whole) * 100));
  const width = Math.min(100 - left, ((durationMs ?? 0) / whole) * 100);
  return (
    <div role="gridcell" className={styles.time}>
      {start !== undefined && (
        <span className={styles.bar} data-kind={node.type} style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} />
      )}
      <span className={styles.duration}>{durationText(durationMs === undefined ? undefined : durationMs * 1e6)}</span>
    </div>
  );
}
