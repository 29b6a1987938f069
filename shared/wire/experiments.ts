import { z } from 'zod';
import { UserInfo } from './accounts.ts';
import { RatingAggregates } from './annotationRatings.ts';
import { BodyFlag, NameOf, orDefault, PageBody, PageFields, PageQuery, QueryFlag, Timestamp, Uuid } from './common.ts';
import {
  AggregateMetricCounts,
  FailedRowsSetting,
  LoggedMetric,
  LoggedMetrics,
  MetricAggregates,
  TrialAggregates,
} from './experimentFigures.ts';
import { notTooDeep } from './filters.ts';
import { IdFilter, NameFilter, NumberFilter, numberFields, numbersFit, TimeFilter } from './listFilters.ts';
import { MetricDirection, MetricRange } from './metricScale.ts';
import { runActivity } from './projects.ts';
import { PromptRunSettings } from './prompts.ts';
import { RowSelectionReply, RowSelectionRequest } from './rowSelection.ts';
import { RunTags } from './runTags.ts';
import { RunUsageBody } from './runUsage.ts';
import { ScorerConfig } from './scorers.ts';

export const ExperimentParams = z.object({ project_id: Uuid, experiment_id: Uuid });
export const ExperimentTagParams = ExperimentParams.extend({ tag_id: Uuid });

export const runState = z.enum(['idle', 'requested', 'running', 'paused', 'completed', 'failed', 'cancelled']);

const gateStatus = z.enum(['passed', 'failed', 'undecided']);

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
export type ExperimentUpdateRequest = z.output<typeof ExperimentUpdateRequest>;

/** Known apart from the names of other columns by its type. */
export type MetricColumnId = `metrics/${string}`;
const MetricName = z
  .string()
  .max(1_000)
  .regex(/^metrics\/./, { error: 'must be the id of a column: metrics/ and the name of a metric' }) as unknown as z.ZodType<
  MetricColumnId,
  string
>;
/** Filters by the figure of a metric in `aggregate_metrics`; experiments without it do not match. */
const MetricFilter = z
  .object({ name: MetricName, ...numberFields })
  .superRefine(numbersFit)
  .meta({ id: 'ExperimentMetricFilter' });

const OneOf = <const N extends string, const V extends z.ZodEnum>(name: N, value: V) =>
  z.object({
    name: z.literal(name),
    operator: orDefault(z.enum(['eq', 'ne', 'one_of', 'not_in']), 'eq'),
    value: z.union([value, z.array(value).max(100)]),
  });

/** The discriminator is `name`; one client adds keys of its own, which are ignored. */
const PlainExperimentFilter = z.discriminatedUnion('name', [
  IdFilter('id'),
  NameFilter('name'),
  NameFilter('series'),
  IdFilter('created_by'),
  TimeFilter('created_at'),
  TimeFilter('updated_at'),
  z.object({ name: z.literal('experiment_group_id'), value: Uuid }),
  OneOf('state', runState),
  OneOf('gate', gateStatus),
  z.object({ name: z.literal('approved'), operator: orDefault(z.enum(['eq', 'ne']), 'eq'), value: z.boolean() }),
  NameFilter('dataset'),
  NameFilter('prompt_model'),
  NameFilter('tags'),
  NumberFilter('rows'),
  NumberFilter('rows_failed'),
  NumberFilter('total_cost'),
  z.object({ name: z.literal('dataset_id'), value: Uuid }),
  z.object({ name: z.literal('prompt_template_id'), value: Uuid }),
  NameFilter('experiment_group_name'),
]);
export const ExperimentFilter = z.union([PlainExperimentFilter, MetricFilter]);
export type ExperimentFilter = z.output<typeof ExperimentFilter>;

/** Conditions joined by `and`, `or` and `not`. */
export type ExperimentFilterTree =
  | { filter: ExperimentFilter }
  | { and: ExperimentFilterTree[] }
  | { or: ExperimentFilterTree[] }
  | { not: ExperimentFilterTree };
const Tree: z.ZodType<ExperimentFilterTree> = z
  .lazy(() =>
    z.union([
      z.strictObject({ filter: ExperimentFilter }),
      z.strictObject({ and: z.array(Tree) }),
      z.strictObject({ or: z.array(Tree) }),
      z.strictObject({ not: Tree }),
    ]),
  )
  .meta({ id: 'ExperimentFilterTree' });
const ExperimentFilterTree = z.preprocess(notTooDeep, Tree) as z.ZodType<ExperimentFilterTree>;

const SortBy = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), ascending: BodyFlag(true), sort_type: z.literal('column').nullish() });
const MetricSort = SortBy('name').extend({ name: MetricName }).meta({ id: 'ExperimentMetricSort' });
export const ExperimentSort = z.union([
  z.discriminatedUnion('name', [
    SortBy('name'),
    SortBy('series'),
    SortBy('created_at'),
    SortBy('updated_at'),
    SortBy('experiment_group_name'),
    SortBy('state'),
    SortBy('gate'),
    SortBy('dataset'),
    SortBy('prompt_model'),
    SortBy('rows'),
    SortBy('rows_failed'),
    SortBy('total_cost'),
  ]),
  MetricSort,
]);
export type ExperimentSort = z.output<typeof ExperimentSort>;

export const ExperimentsQuery = z.object({ include_counts: QueryFlag(false) });
export const ExperimentsPageQuery = PageQuery.extend({ include_counts: QueryFlag(false) });

const filterFields = {
  filters: z
    .array(ExperimentFilter)
    .max(100)
    .nullish()
    .transform((filters) => filters ?? [])
    .describe('Joined by AND. A group id wins over a group name.'),
  filter_tree: ExperimentFilterTree.nullish().describe('Holds beside the filters: conditions joined by `and`, `or` and `not`.'),
};
export const ExperimentSearchRequest = PageBody.extend({
  ...filterFields,
  sort: ExperimentSort.nullish(),
  include_counts: BodyFlag(false),
  thin: BodyFlag(false).describe(
    'Only what a table shows: figures by name alone, all of them (`structured_aggregate_metrics`) only of metrics without the one figure, and no ' +
      '`average_…` and `count_…`; `permissions`, `aggregate_feedback` and `logged_metrics` are empty, as is the `content` of the prompt; the settings of the ' +
      'prompt, the chosen rows and the figures over trials are null.',
  ),
}).meta({ id: 'ExperimentSearchRequest' });
export const ExperimentCountRequest = z.object(filterFields).meta({ id: 'ExperimentCountRequest' });
export const ExperimentCountResponse = z.object({ total_count: z.int() }).meta({ id: 'ExperimentCountResponse' });

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
      .object({ status: gateStatus, at: Timestamp })
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
    aggregate_metric_intervals: z
      .record(z.string(), z.object({ low: z.number(), high: z.number(), level: z.number() }))
      .nullable()
      .describe(
        'Between which numbers the one figure of a metric lies, under its names: of means and shares over rows that are independent. Null before there are figures.',
      ),
    aggregates_by_code: z
      .record(
        z.string(),
        z.union([
          z.object({ values: z.record(z.string(), z.union([z.number(), z.boolean(), z.string()]).nullable()) }),
          z.object({ error: z.string() }),
        ]),
      )
      .describe(
        'What the `aggregator_fn` of metrics of code made of their values, or why it made nothing, under their names; only of those that have one. Its numbers are in `aggregate_metrics` as well, as `<name>_<key>`.',
      ),
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
