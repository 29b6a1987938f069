import type { MetricFigures } from '../client/index.ts';

/** A figure as a cell of the table; behind it, where rows are missing from it, how many it is made of. */
export function figureCell(metric: MetricFigures | undefined, shown: (figure: number) => string): string {
  if (metric === undefined || metric.figure === null) return 'none';
  const { counts } = metric;
  const lacking = counts === null ? 0 : counts.missing + counts.failed + counts.failed_rows_without_value;
  return counts !== null && lacking > 0 ? `${shown(metric.figure)} (${counts.values} of ${counts.rows})` : shown(metric.figure);
}
