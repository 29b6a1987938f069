import type { MetricAggregates } from '../metrics/aggregate.ts';

/** What every row has beside its metrics, as the aggregates name it. */
export const measuredMetrics = ['duration_ns', 'num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost'] as const;

/** What the end of a run leaves on the experiment. */
export interface ExperimentAggregates {
  /** By metric name: a scorer's id for one that a user defined, the wire name of a built-in. It is the id of the metric's column without `metrics/`. */
  metrics: Record<string, MetricAggregates>;
  /** The one number that stands for a metric by its roll-up, under the same names; those that roll up to counts of categories are not among them. */
  rolledUp: Record<string, number>;
}
