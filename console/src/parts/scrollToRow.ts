import type { Virtualizer } from '@tanstack/react-virtual';

/** Scrolls to a row that is not wholly in sight. The virtualizer alone would lay the page out anew for one that is. */
export function scrollToRow(rows: Virtualizer<HTMLDivElement, Element>, index: number, height: number): void {
  const { scrollOffset, scrollRect, options } = rows;
  const start = index * height;
  const top = scrollOffset ?? 0;
  if (scrollRect && start >= top && start + height + options.scrollPaddingStart <= top + scrollRect.height) return;
  rows.scrollToIndex(index, { align: 'auto' });
}
