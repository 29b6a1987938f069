import { z } from 'zod';
import { FilterList } from './filters.ts';
import { MetricDirection, MetricRange } from './metricScale.ts';
import { OutputType } from './scorers.ts';

export const FailedRowsSetting = z
  .enum(['omit', 'worst'])
  .describe(
    'What a row that failed counts as in the figures of a metric that has no value of it: not at all (`omit`, the default), or as the worst value in the ' +
      "metric's range. `worst` is refused where a metric of the experiment has no direction or no range.",
  );

export const LoggedMetric = z
  .strictObject({
    name: z.string().min(1).max(1_000),
    direction: MetricDirection.nullable().default(null),
    range: MetricRange.nullable().default(null),
  })
  .meta({ id: 'LoggedMetric' });
/** Metrics that a client computes itself: what their numbers mean. */
export const LoggedMetrics = z
  .array(LoggedMetric)
  .max(1_000)
  .describe(
    'Of metrics whose values clients log: which numbers are better, and between which they lie. A name that was given before is replaced.',
  );

export const ExperimentFiguresRequest = z
  .strictObject({ failed_rows: FailedRowsSetting.optional(), logged_metrics: LoggedMetrics.optional() })
  .meta({ id: 'ExperimentFiguresRequest' });

export const MetricAggregates = z
  .object({
    avg: z.number().nullable(),
    sum: z.number().nullable(),
    min: z.number().nullable(),
    max: z.number().nullable(),
    count: z.int().nullable(),
    pct: z.number().nullable(),
    p50: z.number().nullable(),
    p90: z.number().nullable(),
    p95: z.number().nullable(),
    p99: z.number().nullable(),
    value_distribution: z.record(z.string(), z.int()).nullable(),
  })
  .meta({ id: 'MetricAggregates' });

const metricCounts = {
  values: z.int().describe('Values that were computed or logged.'),
  missing: z.int().describe('Rows and spans that were not computed, or not yet.'),
  failed: z.int().describe('Those of which the scorer or its judge failed.'),
  not_applicable: z.int().describe('Those of which the metric can have no value, and those that the settings leave out.'),
  failed_rows_without_value: z
    .int()
    .describe('Rows that failed and have no value of the metric; they are in none of the other four numbers.'),
};

/** Why a metric has no value of some rows. */
const MetricGap = z
  .object({
    status_type: z.enum(['not_applicable', 'not_computed', 'failed', 'error']),
    message: z.string(),
    count: z.int().describe('Records that have no value for this reason.'),
  })
  .meta({ id: 'MetricGap' });

/** The counts of values that the figures of a metric are made of. */
export const AggregateMetricCounts = z
  .object({
    ...metricCounts,
    rows: z.int().describe('Rows that were recorded.'),
    rows_failed: z.int().describe('Rows that failed.'),
    failed_rows: FailedRowsSetting,
    worst: z
      .number()
      .nullable()
      .describe('What each failed row without a value counts as in the figures; null where they are left out.'),
    reasons: z
      .array(MetricGap)
      .describe('Why rows that did not fail have no value, the three most frequent reasons first; also that all rows failed.'),
    judge_model: z.string().nullable().describe('The model that judges; null of a metric that none judges.'),
    judged_by_model_under_test: z.boolean().describe('The judge is the model whose answers it judges.'),
  })
  .meta({ id: 'AggregateMetricCounts' });

/** How the trials of a row differ, over the rows with several values. */
export const TrialAggregates = z
  .object({
    rows: z.int().describe('Rows that have values of several trials.'),
    mean: z.number().nullable().describe('Average of the averages of each row; null without numbers.'),
    spread: z
      .number()
      .nullable()
      .describe('Average of the standard deviations of each row over its trials; null without numbers.'),
    agreement: z
      .number()
      .describe("Average share of a row's trials that have its most frequent value; 1: the trials of each row agree."),
  })
  .meta({ id: 'TrialAggregates' });

export const ExperimentMetricsRequest = z
  .object({ filters: FilterList })
  .nullish()
  .transform((request) => request ?? { filters: [] });

export const ExperimentMetricsResponse = z.object({
  metrics: z.array(
    z
      .object({
        name: z.string(),
        metric_key_alias: z.string().nullable().describe("The name of the scorer, where `name` is the scorer's id."),
        buckets: z.record(z.string(), z.int()),
        average: z.number().nullable(),
        roll_up_method: z.string().nullable(),
        data_type: OutputType.nullable(),
        counts: z.object(metricCounts),
        failed_rows: FailedRowsSetting.nullable(),
      })
      .meta({ id: 'BucketedMetric' }),
  ),
});
