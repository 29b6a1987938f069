import { RequestInvalid } from '../errors/errors.ts';
import { type FailedRows, worstOf } from '../metrics/metricFigures.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { LoggedMetrics } from './experiment.ts';

/**
 * @param metrics those that the service computes for the experiment
 * @throws RequestInvalid naming each metric whose failed rows cannot count as the worst value, because nothing says which value that is.
 */
export function mustSuitFailedRows(failedRows: FailedRows, metrics: readonly EnabledMetric[], logged: LoggedMetrics): void {
  if (failedRows === 'omit') return;
  const described = [
    ...metrics.map((metric) => ({ name: metric.alias ?? metric.name, scale: metric })),
    ...Object.entries(logged).map(([name, scale]) => ({ name, scale })),
  ];
  const lacking = described.filter(({ scale }) => worstOf(scale) === undefined);
  if (lacking.length === 0) return;
  const named = lacking.map(({ name, scale: { direction, range } }) => {
    const lacks =
      direction === null && range === null ? 'no direction and no range' : direction === null ? 'no direction' : 'no range';
    return `${JSON.stringify(name)} has ${lacks}`;
  });
  throw new RequestInvalid([
    {
      loc: ['body', 'failed_rows'],
      msg: `failed rows can only count as the worst value where a metric has a direction and a range: ${named.join(', ')}`,
      type: 'failed_rows',
    },
  ]);
}
