import { type RefObject, useLayoutEffect, useRef } from 'react';

/**
 * The element of a row that is filled anew with other records as its table scrolls.
 * @param id of what the row shows: with another, or when the row goes, the focus moves from it to its table, since keys would act on the other one
 */
export function useRowElement(id: string | undefined): RefObject<HTMLDivElement | null> {
  const row = useRef<HTMLDivElement>(null);
  const shownId = useRef(id);
  useLayoutEffect(() => {
    if (shownId.current !== id) leave(row.current);
    shownId.current = id;
  }, [id]);
  useLayoutEffect(() => {
    const element = row.current;
    return () => leave(element);
  }, []);
  return row;
}

function leave(row: HTMLElement | null): void {
  if (row?.contains(document.activeElement)) row.closest<HTMLElement>('[role$=grid]')?.focus({ preventScroll: true });
}
