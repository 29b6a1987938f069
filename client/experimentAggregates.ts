import type { ExperimentResponse } from '../shared/wire/experiments.ts';

/** The figures of one metric, and what they are made of. */
export interface MetricFigures {
  /** The metric's one number; null for labels and texts, and where there are no values. */
  figure: number | null;
  /** All figures; keys as the service gives them. */
  figures: NonNullable<ExperimentResponse['structured_aggregate_metrics']>[string] | null;
  /** Between which numbers the figure lies, at its level; null of what is no mean, and of aggregates that an earlier release has stored. */
  interval: { low: number; high: number; level: number } | null;
  /** How many rows it is of; null of aggregates that an earlier release has stored. */
  counts: NonNullable<ExperimentResponse['aggregate_metric_counts']>[string] | null;
}

/** An experiment as the service gives it, and the figures of its metrics by name. They are found by the id of a metric's scorer as well. */
export type Experiment = ExperimentResponse & { aggregates: Record<string, MetricFigures> };

/** Puts together what the answer says of each metric. */
export function withAggregates(experiment: ExperimentResponse): Experiment {
  const { aggregate_metrics: single, structured_aggregate_metrics: all, aggregate_metric_counts: counts } = experiment;
  const ids = experiment.metric_scorer_ids ?? {}; // an older service gives none
  const named = new Set(Object.values(ids));
  const keys = new Set([all ?? {}, counts ?? {}].flatMap((one) => Object.keys(one)));
  const figuresOf = (name: string): MetricFigures => ({
    figure: single[name] ?? null,
    figures: all?.[name] ?? null,
    interval: experiment.aggregate_metric_intervals?.[name] ?? null,
    counts: counts?.[name] ?? null,
  });
  const aggregates = Object.fromEntries([...keys].flatMap((key) => (named.has(key) ? [] : [[key, figuresOf(key)]])));
  // By the id as before, but not enumerable, so that a loop meets each metric once.
  for (const [name, id] of Object.entries(ids)) Object.defineProperty(aggregates, id, { value: aggregates[name] });
  return { ...experiment, aggregates };
}
