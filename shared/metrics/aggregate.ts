import type { Metric, MetricValue } from './metric.ts';

/** The values of one metric over many records, summed up. A member is null where it has no meaning for the metric or there is nothing to sum up. */
export interface MetricAggregates {
  avg: number | null;
  sum: number | null;
  min: number | null;
  max: number | null;
  /** Values that counted: records without a value are not among them. */
  count: number;
  /** Share of true values in [0, 1], of a boolean metric. */
  pct: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  /** Value as text to how often it came, most frequent first; for booleans, labels and whole numbers of few kinds. */
  valueDistribution: Record<string, number> | null;
}

/** More different values than this are no distribution to look at (and would be a large object): the most frequent ones are kept. */
const MAX_DISTINCT = 200;

/**
 * Sums up the values of a metric. Booleans count as 1 and 0, so that `avg` and `pct` are the share of true; texts and label lists have a count
 * and a distribution only. Percentiles are those of the nearest rank: always a value that came. No values: count 0, all else null.
 */
export function aggregate(values: readonly (MetricValue | null)[], metric: Pick<Metric, 'dataType'>): MetricAggregates {
  const present = values.filter((value) => value !== null);
  // `+ 0` turns -0 into 0, which is what JSON and the stores make of it
  const numbers = present.flatMap((value) =>
    typeof value === 'number' && Number.isFinite(value) ? [value + 0] : typeof value === 'boolean' ? [Number(value)] : [],
  );
  const sorted = Float64Array.from(numbers).sort();
  const sum = sorted.reduce((total, value) => total + value, 0);
  const none = sorted.length === 0;
  const rank = (share: number): number | null => sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? null;
  const numeric = metric.dataType === 'integer' || metric.dataType === 'floating_point' || metric.dataType === 'boolean';
  return {
    avg: none ? null : sum / sorted.length,
    sum: none ? null : sum,
    min: sorted.at(0) ?? null,
    max: sorted.at(-1) ?? null,
    count: numeric ? sorted.length : present.length,
    pct: metric.dataType === 'boolean' && !none ? sum / sorted.length : null,
    p50: rank(0.5),
    p90: rank(0.9),
    p95: rank(0.95),
    p99: rank(0.99),
    valueDistribution: metric.dataType === 'floating_point' || present.length === 0 ? null : distribution(present),
  };
}

function distribution(values: readonly MetricValue[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const value of values)
    for (const text of Array.isArray(value) ? value : [String(value)]) counts.set(text, (counts.get(text) ?? 0) + 1);
  const frequentFirst = [...counts].sort(([a, timesA], [b, timesB]) => timesB - timesA || (a < b ? -1 : 1));
  return Object.fromEntries(frequentFirst.slice(0, MAX_DISTINCT));
}

/** The one number (or the counts of each category) that stands for a metric of a run, by the metric's roll-up. Null without values. */
export function rollUp(aggregates: MetricAggregates, metric: Pick<Metric, 'rollUp'>): number | Record<string, number> | null {
  switch (metric.rollUp) {
    case 'average':
      return aggregates.avg;
    case 'sum':
      return aggregates.sum;
    case 'min':
      return aggregates.min;
    case 'max':
      return aggregates.max;
    case 'percentage_true':
      return aggregates.pct;
    case 'percentage_false':
      return aggregates.pct === null ? null : 1 - aggregates.pct;
    case 'category_count':
      return aggregates.valueDistribution;
    default:
      return metric.rollUp satisfies never;
  }
}
