import { builtinMetrics } from '../metrics/index.ts';
import type { Metric } from '../metrics/metric.ts';
import { type MetricScale, noScale } from '../wire/metricScale.ts';
import { measuredMetrics } from './aggregates.ts';
import type { LoggedMetrics } from './experiment.ts';

/** Scale of duration, tokens and cost, which every run has: less is better. */
export const measuredScale: MetricScale = { direction: 'lower', range: null };

/** Returns what a request says of metrics that its client logs. */
export const loggedMetricsOf = (given: readonly ({ name: string } & MetricScale)[] | null | undefined): LoggedMetrics =>
  Object.fromEntries((given ?? []).map(({ name, direction, range }) => [name, { direction, range }]));

/**
 * Returns what the numbers of an experiment's metrics mean, by the keys of its aggregates. What clients say of a metric counts where the service does not
 * compute it itself; a metric without a description has no scale.
 * @param computed metrics that the service computes for it
 */
export function metricScales(computed: readonly Metric[], logged: LoggedMetrics): (metric: string) => MetricScale {
  const known = new Map<string, MetricScale>([
    ...builtinMetrics.map(({ name, direction, range }) => [name, { direction, range }] as const),
    ...Object.entries(logged),
    ...computed.map(({ name, direction, range }) => [name, { direction, range }] as const),
    ...measuredMetrics.map((name) => [name, measuredScale] as const),
  ]);
  return (metric) => known.get(metric) ?? noScale;
}
