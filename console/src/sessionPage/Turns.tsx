import { useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Rows } from '../records/loadedRows.ts';
import styles from './SessionPage.module.css';
import { Turn } from './Turn.tsx';

interface Props {
  projectId: string;
  rows: Rows;
  /** The element that scrolls; the turns begin somewhere in it. */
  scroller: RefObject<HTMLElement | null>;
  /** Turns from the one number up to the other are in sight, or nearly. */
  onSight(from: number, to: number): void;
}

/** Pixels of a turn that has not been shown yet, with the gap below it. */
const USUAL_HEIGHT = 180;

/** The turns of a session, of which only those in sight and their neighbours are read and on the page. */
export function Turns({ projectId, rows, scroller, onSight }: Props) {
  const list = useRef<HTMLOListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const turns = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => USUAL_HEIGHT,
    scrollMargin: top,
    overscan: 2,
  });
  const inSight = turns.getVirtualItems();
  const from = inSight[0]?.index ?? 0;
  const to = inSight.at(-1)?.index ?? 0;
  useEffect(() => onSight(from, to), [from, to, onSight]);
  return (
    <ol ref={list} className={styles.turns} style={{ height: turns.getTotalSize() }}>
      {inSight.map(({ index, start }) => (
        <li
          key={index}
          ref={turns.measureElement}
          data-index={index}
          aria-setsize={rows.length}
          aria-posinset={index + 1}
          style={{ transform: `translateY(${start - top}px)` }}
        >
          <Turn projectId={projectId} turn={rows.at(index)} />
        </li>
      ))}
    </ol>
  );
}
