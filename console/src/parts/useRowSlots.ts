import type { Virtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';

/** Milliseconds without a turn of the wheel after which a table stands still. A slow machine takes long for one. */
export const REST_MS = 400;

interface RowSlot {
  /** Number of the row in its table. */
  index: number;
  /** Pixels from the top. */
  start: number;
  /** The key of its element. */
  slot: number;
}

/**
 * The rows in sight, with as many elements as are ever on the page: a row that leaves at one end is filled anew at the other. While the table scrolls the
 * elements keep their places, for a browser builds all anew that is moved among others. At rest they are in the order of the rows, in which they are read out.
 */
export function useRowSlots(list: Virtualizer<HTMLDivElement, Element>, height: number): RowSlot[] {
  const first = useRef(0);
  const most = Math.ceil((list.scrollRect?.height ?? 0) / height) + 1 + 2 * list.options.overscan;
  const rows = list.getVirtualItems().map(({ index, start }) => ({ index, start, slot: index % most }));
  if (!list.isScrolling) first.current = rows[0]?.slot ?? 0;
  const placeOf = ({ slot }: RowSlot) => (slot - first.current + most) % most;
  return rows.sort((one, other) => placeOf(one) - placeOf(other));
}
