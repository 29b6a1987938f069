import { text, withoutEmpty } from './parameters.ts';

/** The catalogue lists metrics by these kinds. */
export const metricKinds = ['judge', 'code', 'own'] as const;
export type MetricKind = (typeof metricKinds)[number];

/** The parameters of the catalogue of metrics. */
export interface MetricsAddress {
  /** Words that the name, the description or what is needed has. */
  q?: string | undefined;
  /** All without it. */
  kind?: MetricKind | undefined;
}

export const metricsAddress = (given: Record<string, unknown>): MetricsAddress =>
  withoutEmpty({
    q: text(given.q),
    kind: metricKinds.find((kind) => kind === given.kind),
  });
