import { percentile } from '../statistics/percentile.ts';
import type { RollUpMethod } from '../wire/scorers.ts';
import type { ScoreValue } from './metric.ts';

/** The values of one metric over many records, summed up. A member is null where it has no meaning for the metric or there is nothing to sum up. */
export interface MetricAggregates {
  avg: number | null;
  sum: number | null;
  min: number | null;
  max: number | null;
  /** How many numbers the figures are made of; where there are none, how many values are in the distribution. Records without a value are in neither. */
  count: number;
  /** Share of true in [0, 1] among the booleans. */
  pct: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  /** Booleans, texts and labels to how often they came. Most frequent first, but keys that are whole numbers: an object puts them before all others. */
  valueDistribution: Record<string, number> | null;
  /** The standard deviation of the numbers, of a sample; only the record store says it, and only of two and more. */
  deviation?: number | null;
}

/** More different values than this are no distribution to look at (and would be a large object): the most frequent ones are kept. */
export const MAX_DISTINCT = 200;

/** Aggregates of a metric without values. */
export const noAggregates: MetricAggregates = {
  ...{ avg: null, sum: null, min: null, max: null, count: 0, pct: null },
  ...{ p50: null, p90: null, p95: null, p99: null, valueDistribution: null },
};

/**
 * Sums up the values of a metric. Booleans count as 1 and 0, a list of them as its share of true; texts and lists of labels have a count and a
 * distribution only. Where there are numbers the others are not in `count`. No values: count 0, all else null. The record store sums up in the same way.
 */
export function aggregate(values: readonly (ScoreValue | null)[]): MetricAggregates {
  const numbers: number[] = [];
  const [booleans, categories]: [boolean[], ScoreValue[]] = [[], []];
  for (const given of values) {
    const value = areBooleans(given) ? shareOfTrue(given) : given;
    if (value === null || (typeof value === 'number' && !Number.isFinite(value))) continue;
    // `+ 0` turns -0 into 0, which is what JSON and the stores make of it
    if (typeof value === 'number' || typeof value === 'boolean') numbers.push(Number(value) + 0);
    if (typeof value === 'boolean') booleans.push(value);
    if (typeof value !== 'number') categories.push(value);
  }
  const valueDistribution = distribution(countValues(categories));
  if (numbers.length === 0) return { ...noAggregates, count: categories.length, valueDistribution };
  const sorted = Float64Array.from(numbers).sort();
  const sum = sorted.reduce((total, value) => total + value, 0);
  return {
    avg: sum / sorted.length,
    sum,
    min: sorted.at(0) as number,
    max: sorted.at(-1) as number,
    count: sorted.length,
    pct: booleans.length > 0 ? booleans.filter(Boolean).length / booleans.length : null,
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    valueDistribution,
  };
}

/** True of a list of booleans that has members. */
export const areBooleans = (value: unknown): value is boolean[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'boolean');

/** Returns the share of a list of booleans that are true, in [0, 1]. */
export const shareOfTrue = (flags: readonly boolean[]): number => flags.filter(Boolean).length / flags.length;

/** How often each value came, as text; a list counts once for each of its different members. */
export function countValues(values: readonly ScoreValue[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values)
    for (const text of Array.isArray(value) ? new Set(value.map(String)) : [String(value)])
      counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** The most frequent values; null where there are none. */
export function distribution(counts: Iterable<readonly [value: string, count: number]>): Record<string, number> | null {
  const frequentFirst = [...counts].sort(([a, timesA], [b, timesB]) => timesB - timesA || (a < b ? -1 : 1));
  return frequentFirst.length === 0 ? null : Object.fromEntries(frequentFirst.slice(0, MAX_DISTINCT));
}

/**
 * The one number (or the counts of each category) of a metric: by its roll-up, else the average of numbers and the counts of texts. Where a
 * percentage is asked for, numbers are percentages that were rolled up before, and their average is the result. Null without values.
 */
export function rollUp(aggregates: MetricAggregates, given: RollUpMethod | undefined): number | Record<string, number> | null {
  const method = given ?? (aggregates.avg === null ? 'category_count' : 'average');
  switch (method) {
    case 'average':
      return aggregates.avg;
    case 'sum':
      return aggregates.sum;
    case 'min':
      return aggregates.min;
    case 'max':
      return aggregates.max;
    case 'percentage_true':
      return aggregates.pct ?? aggregates.avg;
    case 'percentage_false':
      return shareOfFalse(aggregates) ?? aggregates.avg;
    case 'category_count':
      return aggregates.valueDistribution;
    default:
      return method satisfies never;
  }
}

/** Share of false in [0, 1] among the booleans. */
export const shareOfFalse = ({ pct }: Pick<MetricAggregates, 'pct'>): number | null => (pct === null ? null : 1 - pct);

/** How the trials of a row differ in one metric, averaged over the rows that have several values of it. */
export interface TrialFigures {
  rows: number;
  /** The average of the averages of each row; null without numbers. */
  mean: number | null;
  /** The average of the standard deviations of each row over its trials; null without numbers. */
  spread: number | null;
  /** The average share of a row's trials that have its most frequent value, in (0, 1]; 1 where all trials of each row agree. */
  agreement: number;
  /** The standard deviation of the averages of each row; null of fewer than two, absent in what earlier releases have stored. */
  deviation?: number | null;
}
