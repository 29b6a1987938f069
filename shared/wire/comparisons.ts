import { z } from 'zod';
import { BodyFlag, PageFields, Uuid } from './common.ts';
import { MetricDirection } from './metricScale.ts';

const number = z.number().nullable();
const count = z.int();

const experimentIds = z.array(Uuid).min(1).max(50).describe('Compared with the baseline; up to 50.');

const failedRows = z
  .enum(['omit', 'worst'])
  .nullish()
  .describe(
    'What failed rows without a value count as: nothing, or the worst value of a metric with a direction and a range. Without it, as the experiment that is compared says.',
  );

export const CompareRequest = z
  .strictObject({
    baseline_id: Uuid,
    experiment_ids: experimentIds,
    metrics: z
      .array(z.string().min(1).max(1_000))
      .min(1)
      .max(1_000)
      .nullish()
      .describe('Names of metrics; all that the experiments have values of, and duration, tokens and cost, without it.'),
    slices: z
      .array(z.string().min(1).max(1_000))
      .max(5)
      .nullish()
      .describe('Columns by whose values rows are compared apart as well, such as `dataset_metadata/topic`. Exploratory.'),
    failed_rows: failedRows,
    seed: z.int().min(0).nullish().describe('Of the random numbers; 0 without it. The same seed gives the same figures.'),
    level: z
      .number()
      .min(0.5)
      .max(0.9999)
      .nullish()
      .describe('Of the intervals, and 1 less the level of the tests; 0.95 without it.'),
  })
  .meta({
    id: 'CompareExperimentsRequest',
    examples: [
      {
        baseline_id: '3e0f3a1e-4d5f-4c19-9c55-0f7f8a2f6a51',
        experiment_ids: ['b8f2a7de-93a4-4a0b-8e64-5d0a4d7a9c02'],
        metrics: ['exact_match', 'cost'],
      },
    ],
  });

const ComparedExperiment = z
  .object({
    id: Uuid,
    name: z.string(),
    state: z.string(),
    is_running: z.boolean().describe('Its run goes on: the figures are those so far.'),
    rows: count,
    failed_rows: count,
    matched_by: z.enum(['dataset_row', 'dataset_input', 'input']).nullable().describe('Null for the baseline.'),
    matched_rows: count.nullable(),
    only_in_baseline: count.nullable(),
    only_in_experiment: count.nullable(),
    changed_rows: count
      .nullable()
      .describe('Rows with the same id and another content in the two versions of the dataset; not compared.'),
  })
  .meta({ id: 'ComparedExperiment' });

const Comparison = z
  .object({
    experiment_id: Uuid,
    metric: z.string(),
    metric_id: z.string().describe('Its key in aggregates and columns.'),
    slice: z.object({ column: z.string(), value: z.string() }).nullable(),
    exploratory: z.boolean().describe('True for slices, which are not corrected for their number.'),
    type: z.enum(['boolean', 'number', 'category']).nullable(),
    unit: z
      .enum(['percentage', 'dollars', 'nano_seconds', 'milli_seconds'])
      .nullable()
      .describe('Of the means, the difference and its interval, as columns say it.'),
    measured: z.boolean().describe('What the service measures of every row: duration, tokens, cost.'),
    direction: MetricDirection.nullable(),
    direction_assumed: z.boolean().describe('No one has said which values are better; the higher ones are taken for it.'),
    failed_rows: z.enum(['omit', 'worst']),
    rows: count.describe('Complete pairs, which all figures are made of.'),
    baseline_mean: number,
    mean: number,
    baseline_p50: number,
    p50: number,
    baseline_p95: number,
    p95: number,
    baseline_aggregate: number.describe('What lists of experiments show: over all values of the baseline.'),
    aggregate: number,
    difference: number.describe('`mean` less `baseline_mean`.'),
    interval: z.object({ low: z.number(), high: z.number(), level: z.number() }).nullable(),
    test: z.enum(['mcnemar', 'sign_flip', 'stuart_maxwell']).nullable(),
    method: z.string().nullable(),
    p_value: number,
    p_adjusted: number.describe('By Holm over the experiments and metrics of the request; null for slices.'),
    better: count.nullable().describe('Rows that are better than in the baseline; null without a direction.'),
    worse: count.nullable(),
    same: count,
    missing: count.describe('Rows with a value on one side only.'),
    changed_rows: count,
    detectable: number.describe('The true difference that so many rows find four times out of five.'),
    rows_to_decide: count
      .nullable()
      .describe(
        'About how many rows would show a difference, if it and its spread stayed as they are. Null where one is shown, and where nothing can be said.',
      ),
    table: z
      .object({ categories: z.array(z.string()), counts: z.array(z.array(count)) })
      .nullable()
      .describe('Of categories: how many rows have one in the baseline (outer list) and another in the experiment (inner list).'),
    differs: z
      .boolean()
      .describe('The difference is larger than chance makes it: p, adjusted where it is, is below 1 - `level`.'),
    verdict: z
      .enum(['better', 'worse', 'no difference shown'])
      .nullable()
      .describe('Null where the two differ and nothing says which is better: of categories, and of metrics without a direction.'),
    sentence: z.string(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Comparison' });

export const CompareReply = z
  .object({
    baseline: ComparedExperiment,
    experiments: z.array(ComparedExperiment),
    level: z.number(),
    seed: z.int(),
    is_partial: z.boolean().describe('A run still goes on.'),
    warnings: z.array(z.string()),
    comparisons: z.array(Comparison),
  })
  .meta({ id: 'CompareExperimentsResponse' });

export const ComparedRowsRequest = z
  .strictObject({
    baseline_id: Uuid,
    experiment_id: Uuid,
    filters: z
      .array(
        z.strictObject({
          is: z.enum(['better', 'worse', 'changed', 'missing', 'failed', 'content_changed']),
          metric: z.string().min(1).max(1_000).nullish().describe('Of which a row is better, worse, changed or missing.'),
        }),
      )
      .max(20)
      .nullish()
      .describe('All of them hold. `failed`: on either side; `content_changed`: between two versions of the dataset.'),
    sort: z
      .strictObject({ metric: z.string().min(1).max(1_000).nullish(), ascending: z.boolean().nullish() })
      .nullish()
      .describe(
        'By the loss in a metric, the largest first: in the one of the first filter without it. Rows that are no pair come last.',
      ),
    slice: z
      .strictObject({ column: z.string().min(1).max(1_000), value: z.string().max(10_000) })
      .nullish()
      .describe(
        'Only rows with this value of a column, on the baseline where both have the row: one of the slices of a comparison.',
      ),
    truncate_fields: BodyFlag(false).describe('Cuts long texts of inputs, outputs and explanations, as in a search.'),
    failed_rows: failedRows,
    starting_token: z.int().min(0).nullish(),
    limit: z.int().min(0).max(500).nullish().describe('50 without it.'),
  })
  .meta({
    id: 'ComparedRowsRequest',
    examples: [
      {
        baseline_id: '3e0f3a1e-4d5f-4c19-9c55-0f7f8a2f6a51',
        experiment_id: 'b8f2a7de-93a4-4a0b-8e64-5d0a4d7a9c02',
        filters: [{ is: 'worse', metric: 'exact_match' }],
      },
    ],
  });

const ComparedTrace = z
  .object({
    trace_id: Uuid,
    trial: count.nullable(),
    output: z.unknown(),
    error_message: z.string(),
    duration_ns: number,
    cost: number,
    scores: z.record(
      z.string(),
      z
        .object({ status: z.string(), value: z.unknown(), explanation: z.string().nullable() })
        .describe('By the name of the metric.'),
    ),
  })
  .meta({ id: 'ComparedTrace' });

const ComparedRow = z
  .object({
    dataset_row_id: Uuid.nullable(),
    input: z.unknown(),
    reference: z.string().nullable(),
    content_changed: z.boolean(),
    baseline: z.array(ComparedTrace).describe('One for each trial; empty where this side lacks the row.'),
    experiment: z.array(ComparedTrace),
  })
  .meta({ id: 'ComparedRow' });
export type ComparedRow = z.output<typeof ComparedRow>;

export const ComparedRowsReply = z
  .object({
    ...PageFields,
    total: count,
    sorted_by: z.string(),
    failed_rows: z.enum(['omit', 'worst']).describe('What failed rows without a value of the metric in `sorted_by` count as.'),
    rows: z.array(ComparedRow),
  })
  .meta({ id: 'ComparedRowsResponse' });
