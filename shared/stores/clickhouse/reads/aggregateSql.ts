import { z } from 'zod';
import { distribution, MAX_DISTINCT, type MetricAggregates, noAggregates } from '../../../metrics/aggregate.ts';

/**
 * Figures of a `Nullable(Float64)` as one tuple, which {@link aggregatesOf} reads; `quantilesExactInclusive` is what `percentile` computes.
 * @param isBoolean SQL that says whether the number means true (1) or false (0)
 */
export const figuresSql = (number: string, isBoolean = 'false'): string =>
  `tuple(toFloat64(count(${number})), avgOrNull(${number}), sumOrNull(${number}), minOrNull(${number}), maxOrNull(${number}), avgOrNullIf(${number}, ${isBoolean}), quantilesExactInclusive(0.5, 0.9, 0.95, 0.99)(${number}))`;

/** The standard deviation of a `Nullable(Float64)`, NULL of fewer than two numbers. */
export const deviationSql = (number: string): string => `if(count(${number}) > 1, stddevSampStable(${number}), NULL)`;

/** How often each member of the lists came, the most frequent ones: exact for up to 600 different ones. */
export const distributionSql = (categories: string): string => `approx_top_kArray(${MAX_DISTINCT})(${categories})`;

const number = z.number().nullable();
export const Figures = z.tuple([z.number(), number, number, number, number, number, z.array(number)]);
export const Distribution = z.array(
  z.union([
    z.tuple([z.string(), z.coerce.number(), z.unknown()]).transform(([item, count]) => [item, count] as const),
    z.object({ item: z.string(), count: z.coerce.number() }).transform(({ item, count }) => [item, count] as const),
  ]),
);

/** @param values how many have a value, be it a number or not */
export function aggregatesOf(
  figures: z.output<typeof Figures>,
  values: number,
  categories: z.output<typeof Distribution> = [],
): MetricAggregates {
  const [count, avg, sum, min, max, pct, [p50 = null, p90 = null, p95 = null, p99 = null]] = figures;
  const valueDistribution = distribution(categories);
  if (count === 0) return { ...noAggregates, count: values, valueDistribution };
  return { avg, sum, min, max, count, pct, p50, p90, p95, p99, valueDistribution };
}
