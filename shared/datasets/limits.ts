import { RequestInvalid } from '../errors/errors.ts';

/** Limits of a dataset. A dataset that holds more already keeps it. */
export interface DatasetLimits {
  rows: number;
  columns: number;
}

export const datasetLimits: DatasetLimits = { rows: 1_000_000, columns: 1_000 };

/** @throws RequestInvalid when a dataset would have more rows than it may. */
export function checkRows(rows: number, limits: DatasetLimits = datasetLimits, loc: (string | number)[]): void {
  if (rows <= limits.rows) return;
  throw tooLarge(loc, 'rows', limits.rows, 'send fewer, or several datasets');
}

/** @throws RequestInvalid when a dataset would have more columns than it may. */
export function checkColumns(columns: number, limits: DatasetLimits = datasetLimits, loc: (string | number)[]): void {
  if (columns <= limits.columns) return;
  throw tooLarge(loc, 'columns', limits.columns, 'send fewer, for example several values as one JSON object in a cell');
}

const tooLarge = (loc: (string | number)[], what: 'rows' | 'columns', limit: number, instead: string) =>
  new RequestInvalid([
    { loc, type: `too_many_${what}`, msg: `a dataset has at most ${limit} ${what}; ${instead}`, ctx: { limit } },
  ]);
