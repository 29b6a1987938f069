import { z } from 'zod';
import { BodyFlag, orDefault, Uuid } from './common.ts';
import { DeletionFilterExpression, DeletionFilterList, FilterExpression, FilterList } from './filters.ts';
import { MetricDirection, MetricRange } from './metricScale.ts';
import { recordKinds } from './recordKinds.ts';
import { ScorerConfig } from './scorers.ts';
import { ComparedTime } from './time.ts';

export const MAX_PAGE = 10_000;

/** The run that a request is about; the service wants exactly one of the three. */
export const RunSelector = {
  log_stream_id: Uuid.nullish(),
  experiment_id: Uuid.nullish(),
  metrics_testing_id: Uuid.nullish(),
};

const offset = z.int().min(0);
// None at all is a page too: who asks for it wants the total.
export const RecordLimit = z
  .int()
  .min(0)
  .describe(`Records of a page, at most ${MAX_PAGE}: a larger number is taken as that one, and the answer's \`limit\` says so.`)
  .transform((given) => Math.min(given, MAX_PAGE));

export const SortClause = z
  .preprocess(
    (given) => {
      if (typeof given !== 'object' || given === null) return given;
      const { name, column_id, ...rest } = given as Record<string, unknown>;
      return { ...rest, column_id: column_id ?? name };
    },
    z.object({
      column_id: z.string(),
      ascending: BodyFlag(true),
      sort_type: z.literal('column').nullish(),
    }),
  )
  .meta({ id: 'LogRecordsSortClause' });

const filterFields = { filters: FilterList.optional(), filter_tree: FilterExpression.nullish() };
const placeFields = {
  ...RunSelector,
  ...filterFields,
  starting_token: offset.nullish(),
  limit: RecordLimit.nullish(),
  /** The specification's form of paging; it wins over the two keys above. */
  pagination: z.object({ starting_token: offset.nullish(), limit: RecordLimit.nullish() }).nullish(),
  previous_last_row_id: Uuid.nullish(),
  sort: SortClause.nullish(),
};
const queryFields = {
  ...placeFields,
  truncate_fields: BodyFlag(false),
  include_counts: BodyFlag(false),
  include_code_metric_metadata: BodyFlag(false),
};

export const LogRecordsQueryRequest = z.object(queryFields).meta({ id: 'LogRecordsQueryRequest' });

const names = orDefault(z.array(z.string()).max(1000), []);
export const SelectColumns = z
  .object({
    column_ids: z.array(z.string()).max(1000).nullish(),
    include_all_metrics: BodyFlag(false),
    include_all_feedback: BodyFlag(false),
    includes_metric_columns: BodyFlag(false),
    /** Metric names without the `metrics/` prefix. */
    metric_columns_names: names,
  })
  .meta({ id: 'SelectColumns' });

export const LogRecordsPartialQueryRequest = z
  .object({ ...queryFields, select_columns: SelectColumns.nullish() })
  .meta({ id: 'LogRecordsPartialQueryRequest' });
export const LogRecordIdsRequest = z.object(placeFields).meta({ id: 'LogRecordIdsRequest' });
export const LogRecordsQueryCountRequest = z
  .object({ ...RunSelector, ...filterFields })
  .meta({ id: 'LogRecordsQueryCountRequest' });
export const LogRecordsQueryCountResponse = z.object({ total_count: z.int() }).meta({ id: 'LogRecordsQueryCountResponse' });
/** The body of `delete`: the records that match it go. Other keys are kept, so that a misspelt filter is not taken for none. */
export const LogRecordsDeleteRequest = z
  .looseObject({
    ...RunSelector,
    filters: DeletionFilterList.optional(),
    filter_tree: DeletionFilterExpression.nullish(),
  })
  .meta({ id: 'LogRecordsDeleteRequest' });
export type LogRecordsQueryRequest = z.output<typeof LogRecordsQueryRequest>;
export type LogRecordsPartialQueryRequest = z.output<typeof LogRecordsPartialQueryRequest>;

export const recordPageFields = {
  /** Records that match the query, on this page and all others. */
  num_rows: z.int(),
  starting_token: z.int(),
  limit: z.int(),
  paginated: z.boolean(),
  next_starting_token: z.int().nullable(),
  last_row_id: Uuid.nullable(),
};
export const LogRecordIdsResponse = z.object({ ...recordPageFields, ids: z.array(Uuid) }).meta({ id: 'LogRecordIdsResponse' });
export type LogRecordIds = z.output<typeof LogRecordIdsResponse>;

export const LogRecordsAvailableColumnsRequest = z
  .object({ ...RunSelector, start_time: ComparedTime.nullish(), end_time: ComparedTime.nullish() })
  .meta({ id: 'LogRecordsAvailableColumnsRequest' });

/** The kinds of records, as the interface calls them. */
export const StepType = z.enum(recordKinds).meta({ id: 'StepType' });

const ColumnCategory = z
  .enum(['standard', 'metric', 'user_metadata', 'metric_status', 'dataset_metadata', 'dataset', 'feedback', 'tags'])
  .meta({ id: 'ColumnCategory' });
const DataType = z
  .enum([
    ...(['uuid', 'text', 'integer', 'floating_point', 'boolean', 'timestamp', 'string_list'] as const),
    ...(['tag', 'dataset', 'prompt', 'playground', 'rank', 'category_count'] as const),
    ...(['score_rating_aggregate', 'star_rating_aggregate', 'thumb_rating_aggregate', 'tags_rating_aggregate'] as const),
    ...(['text_rating_aggregate', 'annotation_agreement', 'fully_annotated'] as const),
  ])
  .meta({ id: 'DataType' });
const DataUnit = z.enum(['percentage', 'nano_seconds', 'milli_seconds', 'dollars', 'count_and_total']).meta({ id: 'DataUnit' });
const LogRecordsFilterType = z
  .enum(['id', 'date', 'number', 'boolean', 'text', 'collection', 'fully_annotated'])
  .meta({ id: 'LogRecordsFilterType' });
const InsightType = z.enum(['vertical_bar', 'horizontal_bar']).meta({ id: 'InsightType' });

/** A column of a catalog. */
export const LogRecordsColumnInfo = z
  .object({
    id: z.string(),
    label: z.string(),
    description: z.string(),
    category: ColumnCategory,
    group_label: z.string(),
    data_type: DataType,
    data_unit: DataUnit.optional(),
    filter_type: LogRecordsFilterType.optional(),
    multi_valued: z.boolean(),
    allowed_values: z.array(z.unknown()).optional(),
    sortable: z.boolean(),
    filterable: z.boolean(),
    is_empty: z.boolean(),
    is_optional: z.boolean(),
    applicable_types: z.array(StepType),
    roll_up_method: z.string().optional(),
    direction: MetricDirection.nullish(),
    range: MetricRange.nullish(),
    metric_key_alias: z.string().optional(),
    scorer_id: Uuid.optional(),
    /** Settings of a metric that the run names. */
    scorer_config: ScorerConfig.nullish(),
    // How a console of the interface's owner shows a column; this service leaves it open.
    insight_type: InsightType.nullish(),
    label_color: z.enum(['positive', 'negative']).nullish(),
    threshold: z
      .object({ inverted: z.boolean(), buckets: z.array(z.number()), display_value_levels: z.array(z.string()) })
      .optional(),
  })
  .meta({ id: 'LogRecordsColumnInfo' });
export type LogRecordsColumnInfo = z.output<typeof LogRecordsColumnInfo>;
export const LogRecordsAvailableColumnsResponse = z
  .object({ columns: z.array(LogRecordsColumnInfo) })
  .meta({ id: 'LogRecordsAvailableColumnsResponse' });
