import { RequestInvalid } from '../errors/errors.ts';
import { type FailedRows, worstOf } from '../metrics/metricFigures.ts';
import type { ComparedMetric } from './comparedMetrics.ts';

/** Returns the value that a failed row counts as where it has none, by metric. Metrics without a worst value are not named. */
export function worstValues(metrics: readonly ComparedMetric[], failedRows: FailedRows): Map<string, number> {
  const worst = new Map<string, number>();
  if (failedRows === 'worst')
    for (const metric of metrics) {
      const value = worstOf(metric);
      if (value !== undefined) worst.set(metric.id, value);
    }
  return worst;
}

/** @throws RequestInvalid where failed rows are to count as the worst value of a metric that has none */
export function mustHaveWorst(metric: ComparedMetric, loc: (string | number)[]): void {
  if (worstOf(metric) !== undefined) return;
  throw new RequestInvalid([
    {
      loc,
      msg: `${metric.name} has no ${metric.direction === null ? 'direction' : 'range'}, so there is no worst value that a failed row could count as`,
      type: 'no_worst_value',
    },
  ]);
}
