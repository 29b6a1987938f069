import { normalQuantile } from './normal.ts';

/** The agreement of two sides that each put the same things into categories. Shares are in [0, 1], kappa is in [-1, 1]. */
export interface Kappa {
  pairs: number;
  /** The share of pairs that agree, with weights the mean weight of a pair; null without a pair. */
  observed: number | null;
  /** The same if the sides were independent, each with its own shares of the categories. */
  expected: number | null;
  /** Agreement beyond chance, as a share of what chance leaves room for. Null where that says nothing. */
  kappa: number | null;
  /** Standard error of kappa for large samples. Null where kappa is null, and where no pair disagrees: nothing can estimate it then. */
  standardError: number | null;
  interval: { low: number; high: number } | null;
}

/** Weighs a pair of categories by their positions: equal ones as 1, those furthest apart as 0. */
export type PairWeight = (one: number, other: number, categories: number) => number;

/** Counts only equal categories as agreement. */
export const equalOnly: PairWeight = (one, other) => (one === other ? 1 : 0);
/** Weighs ordered categories: near ones agree in part, by the square of their distance. */
export const quadratic: PairWeight = (one, other, categories) =>
  categories < 2 ? 1 : 1 - ((one - other) / (categories - 1)) ** 2;

/**
 * Computes kappa of Cohen (1960, weighted 1968), with the standard error of Fleiss, Cohen and Everitt (1969). Kappa is null where a side has one category
 * alone: it would be 0 however far they agree.
 * @param table counts of pairs: row i and column j hold the pairs with category i on one side and j on the other
 * @param level confidence level of the interval
 */
export function cohensKappa(table: readonly (readonly number[])[], weight: PairWeight = equalOnly, level = 0.95): Kappa {
  const size = table.length;
  const indices = table.map((_, index) => index);
  const sum = (of: (index: number) => number): number => indices.reduce((total, index) => total + of(index), 0);
  const count = (row: number, column: number): number => table[row]?.[column] ?? 0;
  const pairs = sum((row) => sum((column) => count(row, column)));
  if (pairs === 0) return { pairs, observed: null, expected: null, kappa: null, standardError: null, interval: null };
  const share = (row: number, column: number): number => count(row, column) / pairs;
  const rows = indices.map((row) => sum((column) => share(row, column)));
  const columns = indices.map((column) => sum((row) => share(row, column)));
  const rowShare = (row: number): number => rows[row] as number;
  const columnShare = (column: number): number => columns[column] as number;
  const weights = indices.map((row) => indices.map((column) => weight(row, column, size)));
  const weightOf = (row: number, column: number): number => weights[row]?.[column] as number;

  const observed = sum((row) => sum((column) => weightOf(row, column) * share(row, column)));
  const expected = sum((row) => sum((column) => weightOf(row, column) * rowShare(row) * columnShare(column)));
  const used = (shares: readonly number[]): number => shares.filter((one) => one > 0).length;
  if (used(rows) < 2 || used(columns) < 2) return { pairs, observed, expected, kappa: null, standardError: null, interval: null };
  const disagrees = sum((row) => sum((column) => (weightOf(row, column) < 1 ? count(row, column) : 0))) > 0;
  if (!disagrees) return { pairs, observed: 1, expected, kappa: 1, standardError: null, interval: null };
  const kappa = (observed - expected) / (1 - expected);
  // The mean weight of each category against the shares of the other side.
  const ofRow = indices.map((row) => sum((column) => weightOf(row, column) * columnShare(column)));
  const ofColumn = indices.map((column) => sum((row) => weightOf(row, column) * rowShare(row)));
  const spread = sum((row) =>
    sum((column) => {
      const chance = ((ofRow[row] as number) + (ofColumn[column] as number)) * (1 - kappa);
      return share(row, column) * (weightOf(row, column) - chance) ** 2;
    }),
  );
  const variance = (spread - (kappa - expected * (1 - kappa)) ** 2) / (pairs * (1 - expected) ** 2);
  const standardError = Math.sqrt(Math.max(0, variance));
  const reach = normalQuantile((1 + level) / 2) * standardError;
  return {
    ...{ pairs, observed, expected, kappa, standardError },
    interval: { low: Math.max(-1, kappa - reach), high: Math.min(1, kappa + reach) },
  };
}
