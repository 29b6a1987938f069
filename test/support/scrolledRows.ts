import type { Locator } from 'playwright-core';

/**
 * Scrolls a grid once.
 * @returns whether the rows that were on the page have kept their places among its elements, as they are when the grid has answered the event
 */
export const keepsRowsInPlace = (grid: Locator, pixels: number): Promise<boolean> =>
  grid.evaluate((element, by) => {
    const rows = () => [...element.querySelectorAll('[role=row]')];
    const before = rows();
    return new Promise<boolean>((resolve) => {
      element.addEventListener(
        'scroll',
        () => {
          const after = rows();
          const kept = after.filter((row) => before.includes(row));
          const isKept = kept.length > 0 && kept.every((row, at) => row === before.filter((one) => after.includes(one))[at]);
          resolve(isKept);
        },
        { once: true },
      );
      element.scrollBy(0, by);
    });
  }, pixels);

/** The numbers of the rows of a grid, in the order in which they are read out. */
export const rowNumbers = (grid: Locator): Promise<number[]> =>
  grid.getByRole('row').evaluateAll((rows) => rows.map((row) => Number(row.ariaRowIndex)));
