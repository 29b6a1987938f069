import type { MetricScale } from '../wire/metricScale.ts';

/**
 * How good an experiment is by all of its metrics that say what good is: the mean, over those with a direction and a range, of how far their figure lies
 * from the worst end of the range (0) to the best (1). Null where there is none such.
 */
export function rankingScore(figures: Readonly<Record<string, number>>, scaleOf: (metric: string) => MetricScale): number | null {
  const shares = Object.entries(figures).flatMap(([metric, figure]) => {
    const { direction, range } = scaleOf(metric);
    if (direction === null || range === null) return [];
    const share = Math.min(1, Math.max(0, (figure - range.min) / (range.max - range.min)));
    return [direction === 'higher' ? share : 1 - share];
  });
  return shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
