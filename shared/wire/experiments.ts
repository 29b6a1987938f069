import { z } from 'zod';
import { UserInfo } from './accounts.ts';
import { RatingAggregates } from './annotationRatings.ts';
import { BodyFlag, NameOf, PageBody, PageFields, PageQuery, QueryFlag, TagText, Timestamp, Uuid } from './common.ts';
import { FilterList } from './filters.ts';
import { IdFilter, NameFilter, numberFields, numbersFit, TimeFilter } from './listFilters.ts';
import { MetricDirection, MetricRange } from './metricScale.ts';
import { runActivity } from './projects.ts';
import { PromptRunSettings } from './prompts.ts';
import { RowSelectionReply, RowSelectionRequest } from './rowSelection.ts';
import { RunUsageBody } from './runUsage.ts';
import { OutputType, ScorerConfig } from './scorers.ts';

export const ExperimentParams = z.object({ project_id: Uuid, experiment_id: Uuid });
export const ExperimentTagParams = ExperimentParams.extend({ tag_id: Uuid });

export const runState = z.enum(['idle', 'requested', 'running', 'paused', 'completed', 'failed', 'cancelled']);

/** 16 is an experiment; 17 a second kind that clients may send. */
const TaskType = z.literal([16, 17]);

const groupSelection = {
  experiment_group_id: Uuid.nullish().describe('Wins over the name. Unknown in the project: 404 with error_code 3520.'),
  experiment_group_name: NameOf(255).nullish().describe('Created when the project lacks it.'),
};

/** How often each row is run. */
export const Trials = z.number().int().min(1).max(100).nullish().describe('Times that each row is run, 1 by default.');

const ExperimentDatasetRequest = z
  .object({ dataset_id: Uuid, version_index: z.int32() })
  .meta({ id: 'ExperimentDatasetRequest' });

export const FailedRowsSetting = z
  .enum(['omit', 'worst'])
  .describe(
    'What a row that failed counts as in the figures of a metric that has no value of it: not at all (`omit`, the default), or as the worst value in the ' +
      "metric's range. `worst` is refused where a metric of the experiment has no direction or no range.",
  );

const LoggedMetric = z
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

export const ExperimentCreateRequest = z
  .object({
    name: NameOf(1_000),
    task_type: TaskType.nullish().transform((type) => type ?? 16),
    playground_id: Uuid.nullish(),
    prompt_template_version_id: Uuid.nullish(),
    dataset: ExperimentDatasetRequest.nullish(),
    playground_prompt_id: Uuid.nullish(),
    prompt_settings: PromptRunSettings.nullish(),
    scorers: z.array(ScorerConfig).max(200).nullish(),
    trigger: BodyFlag(false),
    rows: RowSelectionRequest.nullish(),
    trials: Trials,
    logged_metrics: LoggedMetrics.nullish(),
    failed_rows: FailedRowsSetting.nullish(),
    ...groupSelection,
  })
  .meta({ id: 'ExperimentCreateRequest' });
export type ExperimentCreateRequest = z.output<typeof ExperimentCreateRequest>;

export const ExperimentUpdateRequest = z
  .object({ name: NameOf(1_000), task_type: TaskType.nullish(), ...groupSelection })
  .meta({ id: 'ExperimentUpdateRequest' });
export const ExperimentFiguresRequest = z
  .strictObject({ failed_rows: FailedRowsSetting.optional(), logged_metrics: LoggedMetrics.optional() })
  .meta({ id: 'ExperimentFiguresRequest' });

export type ExperimentUpdateRequest = z.output<typeof ExperimentUpdateRequest>;

const MetricName = z
  .string()
  .max(1_000)
  .regex(/^metrics\/./, { error: 'must be the id of a column: metrics/ and the name of a metric' });
/** By the figure that stands for a metric in `aggregate_metrics`; experiments without it match nothing. */
const MetricFilter = z
  .object({ name: MetricName, ...numberFields })
  .superRefine(numbersFit)
  .meta({ id: 'ExperimentMetricFilter' });

/** The discriminator is `name`; one client adds keys of its own, which are ignored. */
const PlainExperimentFilter = z.discriminatedUnion('name', [
  IdFilter('id'),
  NameFilter('name'),
  NameFilter('series'),
  IdFilter('created_by'),
  TimeFilter('created_at'),
  TimeFilter('updated_at'),
  z.object({ name: z.literal('experiment_group_id'), value: Uuid }),
  NameFilter('experiment_group_name'),
]);
export const ExperimentFilter = z.union([PlainExperimentFilter, MetricFilter]);
export type ExperimentFilter = z.output<typeof ExperimentFilter>;

const SortBy = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), ascending: BodyFlag(true), sort_type: z.literal('column').nullish() });
const MetricSort = SortBy('name').extend({ name: MetricName }).meta({ id: 'ExperimentMetricSort' });
export const ExperimentSort = z.union([
  z.discriminatedUnion('name', [SortBy('name'), SortBy('series'), SortBy('created_at'), SortBy('updated_at')]),
  MetricSort,
]);
export type ExperimentSort = z.output<typeof ExperimentSort>;

export const ExperimentsQuery = z.object({ include_counts: QueryFlag(false) });
export const ExperimentsPageQuery = PageQuery.extend({ include_counts: QueryFlag(false) });

export const ExperimentSearchRequest = PageBody.extend({
  filters: z
    .array(ExperimentFilter)
    .max(100)
    .nullish()
    .transform((filters) => filters ?? [])
    .describe('Joined by AND. A group id wins over a group name.'),
  sort: ExperimentSort.nullish(),
  include_counts: BodyFlag(false),
}).meta({ id: 'ExperimentSearchRequest' });

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

/** What the figures of a metric are made of. */
const AggregateMetricCounts = z
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
const TrialAggregates = z
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

export const RunTagCreateRequest = z
  .object({ key: TagText, value: TagText, tag_type: TagText })
  .meta({ id: 'RunTagCreateRequest' });
export type RunTagCreateRequest = z.output<typeof RunTagCreateRequest>;

export const RunTag = z
  .object({
    id: Uuid,
    key: z.string(),
    value: z.string(),
    tag_type: z.string(),
    project_id: Uuid,
    run_id: Uuid,
    created_by: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'RunTagDB' });
export const RunTags = z.array(RunTag);

export const ExperimentResponse = z
  .object({
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    name: z.string(),
    series: z
      .string()
      .describe('The name without the time that clients put behind one that is taken: runs of one name have one series.'),
    approved_at: Timestamp.nullable().describe('When it was approved as a baseline; null where it is not.'),
    approved_by: Uuid.nullable(),
    gate: z
      .object({ status: z.enum(['passed', 'failed', 'undecided']), at: Timestamp })
      .nullable()
      .describe('What its gates came to: `failed` where one of them failed since it was last started. Null before the first.'),
    project_id: Uuid,
    created_by: Uuid,
    created_by_user: UserInfo.nullable(),
    num_spans: z.int().nullable(),
    num_traces: z.int().nullable(),
    num_sessions: z.int().nullable(),
    ...runActivity,
    task_type: TaskType,
    dataset: z.object({ dataset_id: Uuid, version_index: z.int(), name: z.string().nullable() }).nullable(),
    aggregate_metrics: z
      .record(z.string(), z.number())
      .describe(
        'The one figure of each metric, by its name and by the id of a scorer that a user defined; and `average_<name>`, `count_<name>` (how many values), `average_cost`, `average_latency` (milliseconds) and `total_responses` (rows that were recorded).',
      ),
    structured_aggregate_metrics: z
      .record(z.string(), MetricAggregates)
      .nullable()
      .describe(
        "All figures of each metric, by its name and by its scorer's id. By the id, a distribution of booleans has the keys `0` and `1`; by the name, `false` and `true`.",
      ),
    metric_scorer_ids: z
      .record(z.string(), Uuid)
      .describe("By the name of a metric that is here under its scorer's id as well: that id."),
    trial_aggregates: z.record(z.string(), TrialAggregates).nullable().describe('By metric; null of a run with one trial.'),
    aggregate_metric_counts: z.record(z.string(), AggregateMetricCounts).nullable(),
    failed_rows: FailedRowsSetting,
    usage: RunUsageBody.nullable(),
    aggregate_feedback: z.record(z.string(), z.unknown()),
    rating_aggregates: RatingAggregates.describe(
      'Ratings of its records in annotation queues: by template, then by what was rated. `unrated_count` counts records in the queue without one.',
    ),
    ranking_score: z.number().nullable(),
    rank: z.int().nullable(),
    winner: z.boolean().nullable(),
    playground_id: Uuid.nullable(),
    playground: z.object({ playground_id: Uuid, name: z.string().nullable() }).nullable(),
    prompt_run_settings: z.record(z.string(), z.unknown()).nullable(),
    prompt_model: z.string().nullable(),
    prompt: z.object({ prompt_template_id: Uuid, version_index: z.int(), name: z.string(), content: z.string() }).nullable(),
    tags: z.record(z.string(), RunTags),
    row_selection: RowSelectionReply.nullable().describe('The rows that its first start froze; null: all of them.'),
    trials: z.int().describe('Times that each row is run.'),
    state: runState.describe('How its run is: `idle` before the first start, and of an experiment whose rows are logged.'),
    status: z.object({ log_generation: z.object({ progress_percent: z.number().min(0).max(1) }) }),
    experiment_group_id: Uuid,
    experiment_group_name: z.string(),
    experiment_group_is_system: z.boolean(),
    logged_metrics: z.array(LoggedMetric),
  })
  .meta({ id: 'ExperimentResponse' });
export type ExperimentResponse = z.output<typeof ExperimentResponse>;

export const ExperimentList = z.array(ExperimentResponse);
export const ListExperimentResponse = z
  .object({ ...PageFields, experiments: ExperimentList })
  .meta({ id: 'ListExperimentResponse' });

export const ExperimentColumn = z
  .object({
    id: z.string(),
    label: z.string(),
    category: z.enum(['standard', 'metric', 'dataset', 'tags']),
    description: z.string(),
    group_label: z.string(),
    data_type: z.enum([
      'uuid',
      'text',
      'integer',
      'floating_point',
      'boolean',
      'timestamp',
      'string_list',
      'tag',
      'dataset',
      'prompt',
      'playground',
      'rank',
      'category_count',
    ]),
    data_unit: z.enum(['percentage', 'nano_seconds', 'milli_seconds', 'dollars', 'count_and_total']).nullable(),
    multi_valued: z.boolean(),
    allowed_values: z.array(z.unknown()).nullable(),
    sortable: z.boolean(),
    filterable: z.boolean(),
    is_empty: z.boolean(),
    applicable_types: z.array(z.string()),
    is_optional: z.boolean(),
    roll_up_method: z.string().nullable(),
    metric_key_alias: z.string().nullable(),
    direction: MetricDirection.nullable(),
    range: MetricRange.nullable(),
  })
  .meta({ id: 'ExperimentColumnInfo' });
export type ExperimentColumn = z.output<typeof ExperimentColumn>;
export const ExperimentsAvailableColumnsResponse = z.object({ columns: z.array(ExperimentColumn) });

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

export const ExperimentGroupQuery = PageBody.nullish().transform((page) => page ?? { starting_token: 0, limit: 100 });

export const ExperimentGroupResponse = z
  .object({
    id: Uuid,
    name: z.string(),
    project_id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    description: z.string().nullable(),
    is_system: z.boolean(),
    experiment_count: z.int(),
    latest_run_date: Timestamp.nullable(),
    datasets: z.array(z.object({ id: Uuid, name: z.string() })),
    created_by: Uuid.nullable(),
    created_by_user: UserInfo.nullable(),
  })
  .meta({ id: 'ExperimentGroupResponse' });
export const ExperimentGroupPage = z.object({ ...PageFields, experiment_groups: z.array(ExperimentGroupResponse) });
