import { type FailedRows, worstOf } from '../metrics/metricFigures.ts';
import type { ComparedMetric } from './comparedMetrics.ts';

/** What a failed row counts as, by metric; a metric that is not named has what values there are. */
export function worstValues(metrics: readonly ComparedMetric[], failedRows: FailedRows): Map<string, number> {
  const worst = new Map<string, number>();
  if (failedRows === 'worst')
    for (const metric of metrics) {
      const value = worstOf(metric);
      if (value !== undefined) worst.set(metric.id, value);
    }
  return worst;
}
