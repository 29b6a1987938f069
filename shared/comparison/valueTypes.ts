import type { MetricType } from './comparison.ts';
import type { MetricSide, PairedMetric } from './comparisonReads.ts';

/** Returns what one side's values are. */
export function typeOf({ booleans, numbers, labels }: MetricSide): MetricType | null {
  if (numbers > 0) return 'number';
  if (booleans > 0) return 'boolean';
  return labels > 0 ? 'category' : null;
}

/** Returns what both sides' values are. Null where the two sides have values of different types, or one has none. */
export function comparedType({ baseline, other }: PairedMetric): MetricType | null {
  const [one, two] = [typeOf(baseline), typeOf(other)];
  return one === two || one === null || two === null ? (one ?? two) : null;
}
