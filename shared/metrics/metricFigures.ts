import type { MetricScale } from '../wire/metricScale.ts';
import type { ScoreValue } from './metric.ts';

/** How a failed row without a value counts in the figures of a metric: not at all, or as the worst value there is. */
export type FailedRows = 'omit' | 'worst';

/**
 * The counts behind the figures of a metric. Records are counted that say something of the metric, and rows of which none does: each once, as a value, or
 * as why there is none.
 */
export interface MetricCounts {
  values: number;
  /** Nothing is known of them: never computed, or not yet. */
  missing: number;
  /** The scorer or its judge failed. */
  failed: number;
  /** The metric cannot have a value there, or the settings leave the record out. */
  notApplicable: number;
  /** Rows that failed and have no value of the metric; they are in none of the numbers above. */
  failedRowsWithoutValue: number;
}

/** Why a metric has no value of some records. */
export interface GapReason {
  status: 'not_applicable' | 'not_computed' | 'failed' | 'error';
  message: string;
  /** Records that have none for this reason. */
  count: number;
}

/** How the rows that failed count in a figure. */
export interface FailedRowsCount {
  failedRows: FailedRows;
  /** Value of each row without one; null where these rows are left out. */
  worst: number | null;
}

/** Values of a metric in one row, its trace and spans. */
export interface RowOfMetric {
  isFailed: boolean;
  /** Without those that are rolled up: they are made of the others. */
  results: readonly { status: string; value: ScoreValue | null }[];
}

const noCounts: MetricCounts = { values: 0, missing: 0, failed: 0, notApplicable: 0, failedRowsWithoutValue: 0 };

/** The worst value that a metric can have; undefined where it has no direction or no limits. */
export function worstOf({ direction, range }: MetricScale): number | undefined {
  if (direction === null || range === null) return undefined;
  return direction === 'higher' ? range.min : range.max;
}

/** Failed rows count as the worst value where that is chosen and the metric has one. */
export function failedRowsOf(chosen: FailedRows, scale: MetricScale): FailedRowsCount {
  const worst = chosen === 'worst' ? worstOf(scale) : undefined;
  return worst === undefined ? { failedRows: 'omit', worst: null } : { failedRows: 'worst', worst };
}

/** Returns what fills the place of a missing value: of a metric of booleans a boolean. */
export const filling = (worst: number, isBoolean: boolean): number | boolean => (isBoolean ? worst !== 0 : worst);

/** Counts what rows have of a metric. The record store counts in the same way. */
function countResults(rows: readonly RowOfMetric[]): MetricCounts {
  const counts = { ...noCounts };
  for (const { isFailed, results } of rows) {
    const values = results.filter(({ status }) => status === 'success').length;
    counts.values += values;
    if (isFailed) {
      if (values === 0) counts.failedRowsWithoutValue++;
      continue;
    }
    if (results.length === 0) counts.missing++;
    for (const { status } of results) {
      if (status === 'failed' || status === 'error') counts.failed++;
      else if (status === 'not_applicable' || status === 'not_computed') counts.notApplicable++;
      else if (status !== 'success') counts.missing++;
    }
  }
  return counts;
}

/**
 * Returns the values behind the figures of a metric over rows, those of failed rows included, and their counts.
 * @param isBoolean where no value says it
 */
export function figuresOf(
  rows: readonly RowOfMetric[],
  { worst }: FailedRowsCount,
  isBoolean = false,
): { values: ScoreValue[]; counts: MetricCounts } {
  const counts = countResults(rows);
  const values = rows.flatMap(({ results }) =>
    results.flatMap(({ status, value }) => (status === 'success' && value !== null ? [value] : [])),
  );
  const ofBooleans = values.length > 0 ? values.every((value) => typeof value === 'boolean') : isBoolean;
  const filled =
    worst === null ? [] : new Array<number | boolean>(counts.failedRowsWithoutValue).fill(filling(worst, ofBooleans));
  return { values: [...values, ...filled], counts };
}

/** Adds up the counts of two groups of rows. */
export const addCounts = (one: MetricCounts, other: MetricCounts): MetricCounts => ({
  values: one.values + other.values,
  missing: one.missing + other.missing,
  failed: one.failed + other.failed,
  notApplicable: one.notApplicable + other.notApplicable,
  failedRowsWithoutValue: one.failedRowsWithoutValue + other.failedRowsWithoutValue,
});
