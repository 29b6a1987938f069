import type { Locator } from 'playwright-core';

/** Opens a row of a table by a click near its start: the middle may be the button of a cell that filters by its value, which is there once the mouse is. */
export const openRow = (row: Locator): Promise<void> => row.click({ position: { x: 60, y: 8 } });
