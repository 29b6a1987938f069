import type { Virtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'react';

/** Milliseconds without a turn of the wheel after which a table stands still. A slow machine takes long for one. */
export const REST_MS = 400;
/** A frame of up to so many milliseconds is no hitch; of up to so many, more rows may be filled in the next. */
const FRAME_MS = { long: 34, short: 20 };
const LEAST_ROWS = 3;
/** Rows that a frame fills while a table scrolls, as this machine has shown that it can. */
let rowsPerFrame = 8;

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
 *
 * A slow machine cannot fill all rows of a turn of the wheel in one frame. It fills those in the middle first and the others in the frames that follow, so
 * that the table goes on moving; until then an element keeps the row it had, which is out of sight.
 */
export function useRowSlots(list: Virtualizer<HTMLDivElement, Element>, height: number): RowSlot[] {
  const { scrollRect, scrollOffset, options, isScrolling } = list;
  const most = Math.ceil((scrollRect?.height ?? 0) / height) + 1 + 2 * options.overscan;
  const inSight = list.getVirtualItems().map(({ index, start }) => ({ index, start, slot: index % most }));
  const before = useRef({ most, rows: inSight });
  const shown = new Map(
    isScrolling && before.current.most === most
      ? before.current.rows.filter(({ index }) => index < options.count).map((row) => [row.slot, row])
      : [],
  );
  const middle = (scrollOffset ?? 0) + (scrollRect?.height ?? 0) / 2;
  const missing = inSight
    .filter(({ index, slot }) => shown.get(slot)?.index !== index)
    .sort((one, other) => Math.abs(one.start - middle) - Math.abs(other.start - middle));
  const filled = isScrolling ? missing.slice(0, rowsPerFrame) : missing;
  for (const row of filled) shown.set(row.slot, row);
  const rows = [...shown.values()];
  useLayoutEffect(() => {
    before.current = { most, rows };
  });
  useFollowingFrames(isScrolling ? filled.length : 0, missing.length - filled.length);

  const first = useRef(0);
  if (!isScrolling) first.current = inSight[0]?.slot ?? 0;
  const placeOf = ({ slot }: RowSlot) => (slot - first.current + most) % most;
  return rows.sort((one, other) => placeOf(one) - placeOf(other));
}

/** Fills what is left in the next frame, unless the table has moved by then, and learns from the time that this one takes. */
function useFollowingFrames(filled: number, left: number): void {
  const [, fillMore] = useReducer((times: number) => times + 1, 0);
  useEffect(() => {
    if (filled === 0) return;
    let isCurrent = true;
    // The first of the two still belongs to the frame that shows these rows.
    requestAnimationFrame((began) =>
      requestAnimationFrame((ended) => {
        const took = ended - began;
        if (took > FRAME_MS.long) rowsPerFrame = Math.max(LEAST_ROWS, Math.floor(filled * 0.6));
        else if (took < FRAME_MS.short && filled >= rowsPerFrame) rowsPerFrame += 2;
        if (isCurrent && left > 0) fillMore();
      }),
    );
    return () => {
      isCurrent = false;
    };
  });
}
