import { z } from 'zod';
import { allProjectActions, permissionsOf, UserInfo } from './accounts.ts';
import { Check } from './checks.ts';
import { BodyFlag, NameOf, orDefault, PageFields, Timestamp, Uuid } from './common.ts';
import { MetricColorPicker, NumericColorPicker } from './metricColors.ts';
import { MetricDirection, MetricRange } from './metricScale.ts';

/** Kinds of records as the interface lists them for scorers; clients also send `control`. */
export const NodeType = z.enum(['chain', 'chat', 'llm', 'retriever', 'tool', 'agent', 'workflow', 'trace', 'session']);
export type NodeType = z.output<typeof NodeType>;
export const OutputType = z
  .enum([
    'boolean',
    'categorical',
    'count',
    'discrete',
    'freeform',
    'percentage',
    'multilabel',
    'retrieved_chunk_list_boolean',
    'boolean_multilabel',
  ])
  .meta({ id: 'OutputTypeEnum' });
export type OutputType = z.output<typeof OutputType>;

export const InputType = z.enum([
  'basic',
  'llm_spans',
  'retriever_spans',
  'sessions_normalized',
  'sessions_trace_io_only',
  'tool_spans',
  'trace_input_only',
  'trace_io_only',
  'trace_normalized',
  'trace_output_only',
  'agent_spans',
  'workflow_spans',
]);

const RollUpMethod = z.enum(['average', 'sum', 'max', 'min', 'category_count', 'percentage_true', 'percentage_false']);
export type RollUpMethod = z.output<typeof RollUpMethod>;

export const ScorerType = z.enum(['llm', 'code', 'luna', 'preset']);
export type ScorerType = z.output<typeof ScorerType>;
const ModelType = z.enum(['slm', 'llm', 'code']);
export const MultimodalCapability = z.enum(['vision', 'audio']);
export type MultimodalCapability = z.output<typeof MultimodalCapability>;

/** The type of values that the code of a scorer gives, by its name in Python. */
export const CodeScoreType = z.enum(['bool', 'int', 'float', 'str']);
export type CodeScoreType = z.output<typeof CodeScoreType>;

/** Kept and given back; aggregates follow `roll_up_method`. */
export const ChainAggregation = z.enum(['sum', 'average', 'first', 'last']);

const texts = z.array(z.string());
const textOrTexts = z.union([z.string(), texts]);

const NodeNameFilter = z.object({
  name: z.literal('node_name'),
  operator: z.enum(['eq', 'ne', 'contains', 'one_of', 'not_in']),
  value: textOrTexts,
  case_sensitive: BodyFlag(true),
});
const MetadataFilter = z.object({
  name: z.literal('metadata'),
  operator: z.enum(['one_of', 'not_in', 'eq', 'ne']),
  key: z.string(),
  value: textOrTexts,
});
const ModalityFilter = z.object({
  name: z.literal('modality'),
  operator: z.enum(['eq', 'ne', 'one_of', 'not_in']),
  value: textOrTexts,
});
/** A condition on the records that a scorer takes; all of a list must hold. */
const RecordFilter = z.discriminatedUnion('name', [NodeNameFilter, MetadataFilter, ModalityFilter]);

export const ChainPollTemplate = z.object({
  metric_system_prompt: z.string().nullish(),
  metric_description: z.string().nullish(),
  value_field_name: orDefault(z.string(), 'rating'),
  explanation_field_name: orDefault(z.string(), 'explanation'),
  template: z.string(),
  metric_few_shot_examples: orDefault(
    z.array(z.object({ generation_prompt_and_response: z.string(), evaluating_response: z.string() })),
    [],
  ),
  response_schema: z.record(z.string(), z.unknown()).nullish(),
});
export type ChainPollTemplate = z.output<typeof ChainPollTemplate>;

/** Judges of one score: the interface allows 1 to 10. */
export const JudgeCount = z.number().int().min(1).max(10);

/** Settings that a scorer, its versions and its use in a run all have. */
export const judgeSettings = {
  model_name: z.string().nullish(),
  model_names: z
    .array(z.string().min(1))
    .min(1)
    .max(10)
    .nullish()
    .describe('Several models that judge in turn, in place of `model_name`; without `num_judges` each is asked once.'),
  num_judges: JudgeCount.nullish(),
  scoreable_node_types: texts.nullish(),
  cot_enabled: z.boolean().nullish(),
  output_type: OutputType.nullish(),
  input_type: InputType.nullish(),
};

const ScorerDefaults = z.object({ ...judgeSettings, filters: z.array(RecordFilter).nullish() });

const BaseScorerVersion = z.object({
  id: Uuid,
  version: z.number().int(),
  scorer_id: Uuid,
  generated_scorer: z
    .object({
      id: Uuid,
      name: z.string(),
      instructions: z.string().nullish(),
      chain_poll_template: ChainPollTemplate,
      user_prompt: z.string().nullish(),
    })
    .nullish(),
  registered_scorer: z.object({ id: Uuid, name: z.string(), score_type: z.string().nullish() }).nullish(),
  finetuned_scorer: z.record(z.string(), z.unknown()).nullish(),
  ...judgeSettings,
});

/** The settings of a scorer in a run. Clients send them with scorer settings, the creation of a prompt experiment and jobs; only `id` and `scorer_type` are required. */
export const ScorerConfig = z.object({
  id: Uuid,
  scorer_type: ScorerType,
  name: z.string().nullish(),
  ...judgeSettings,
  filters: z.array(RecordFilter).nullish(),
  model_type: ModelType.nullish(),
  scorer_version: BaseScorerVersion.nullish(),
  multimodal_capabilities: z.array(MultimodalCapability).nullish(),
  roll_up_method: RollUpMethod.nullish(),
  score_type: z.string().nullish(),
});
export type ScorerConfig = z.output<typeof ScorerConfig>;

/** The same of a scorer that is given by its name, as older clients do; whatever else they say of it changes nothing. */
export const NamedScorerConfig = z.looseObject({
  name: z.string().trim().min(1),
  scorer_type: z.null().optional(),
  ...judgeSettings,
  filters: z.array(RecordFilter).nullish(),
  roll_up_method: RollUpMethod.nullish(),
});
export type NamedScorerConfig = z.output<typeof NamedScorerConfig>;

export const SegmentFilter = z.object({
  filter: RecordFilter.nullish(),
  sample_rate: z.number().min(0).max(1),
  llm_scorers: BodyFlag(false),
  multimodal_scorers: BodyFlag(false),
});
export type SegmentFilter = z.output<typeof SegmentFilter>;

/** A run uses at most this many metrics: every one of them is computed for every row. */
const ScorerConfigs = z.array(ScorerConfig).max(200);
const SegmentFilters = z.array(SegmentFilter).max(100);

export const MetricSettingsRequest = z.object({ scorers: ScorerConfigs.nullish(), segment_filters: SegmentFilters.nullish() });
export const MetricSettingsResponse = z.object({
  not_set: z
    .array(z.object({ index: z.int(), scorer: z.string(), reason: z.string() }).meta({ id: 'ScorerNotSet' }))
    .optional()
    .describe('Scorers of the request that were not set, each with the reason; absent where all were.'),
  scorers: z.array(ScorerConfig),
  segment_filters: z.array(SegmentFilter).nullable(),
});

export const RunScorerSettingsRequest = MetricSettingsRequest.extend({ run_id: Uuid });
export const RunScorerSettingsResponse = MetricSettingsResponse.extend({ run_id: Uuid });

/** Labels that differ in case alone are the same: a judge may write either. */
export const Categories = z
  .array(z.string().trim().min(1).max(255))
  .min(1)
  .max(200)
  .refine((labels) => new Set(labels.map((label) => label.toLowerCase())).size === labels.length, {
    error: 'names a category twice',
  })
  .describe(
    'Of a categorical or multilabel judge: the labels that it may give; of a boolean_multilabel one those that it says true or false of. Another answer is an error of that score.',
  );

const scorerSettings = {
  description: z.string().nullish(),
  tags: texts.nullish(),
  defaults: ScorerDefaults.nullish(),
  model_type: ModelType.nullish(),
  ground_truth: z.boolean().nullish(),
  default_version_id: Uuid.nullish(),
  user_prompt: z.string().nullish(),
  scoreable_node_types: texts.nullish(),
  output_type: OutputType.nullish(),
  input_type: InputType.nullish(),
  multimodal_capabilities: z.array(MultimodalCapability).nullish(),
  roll_up_method: RollUpMethod.nullish(),
  metric_color_picker_config: MetricColorPicker.nullish(),
  direction: MetricDirection.nullish(),
  range: MetricRange.nullish(),
  categories: Categories.nullish(),
  check: Check.nullish().describe('Of a scorer of type code: what it checks of each record. Its values are true or false.'),
};

export const CreateScorerRequest = z.object({
  ...scorerSettings,
  name: NameOf(255),
  id: Uuid.nullish(),
  label: z.string().trim().max(255).nullish(),
  scorer_type: ScorerType,
  deprecated: z.boolean().nullish(),
  required_scorers: texts.nullish(),
  required_metric_ids: texts.nullish(),
  is_global: z.boolean().nullish(),
  project_ids: z
    .array(Uuid)
    .max(1000)
    .nullish()
    .transform((ids) => ids ?? []),
});
export type CreateScorerRequest = z.output<typeof CreateScorerRequest>;

export const UpdateScorerRequest = z.object({ ...scorerSettings, name: NameOf(255).nullish() });
export type UpdateScorerRequest = z.output<typeof UpdateScorerRequest>;

export const UpdateScorerScopeRequest = z
  .object({
    is_global: z.boolean(),
    project_ids: z
      .array(Uuid)
      .max(1000)
      .nullish()
      .transform((ids) => [...new Set(ids ?? [])]),
  })
  .superRefine(({ is_global, project_ids }, context) => {
    if (is_global && project_ids.length > 0)
      context.addIssue({
        code: 'custom',
        path: ['project_ids'],
        message: 'a global scorer belongs to no projects: leave them out',
      });
    if (!is_global && project_ids.length === 0)
      context.addIssue({ code: 'custom', path: ['project_ids'], message: 'name the projects of a scorer that is not global' });
  });

/** A page of projects that use a scorer. */
export const ScorerProjectsResponse = z.object({
  ...PageFields,
  projects: z.array(
    z.object({
      id: Uuid,
      permissions: permissionsOf(allProjectActions),
      name: z.string(),
      created_at: Timestamp,
      updated_at: Timestamp,
      bookmark: z.boolean(),
      num_logstreams: z.int().describe('Log streams that have it switched on.'),
      num_experiments: z.int().describe('Experiments that have it switched on.'),
      created_by_user: UserInfo.nullable(),
    }),
  ),
  total_count: z.int(),
});

export const scorerWarnings = z
  .array(z.string())
  .describe('What the scorer lacks, such as a direction: without it no value is better than another.');

/** The things that a record or the project must have for a metric to give a value. */
const MetricNeed = z
  .enum([
    'judge_model',
    'reference_output',
    'context',
    'tools',
    'tool_calls',
    'steps',
    'turns',
    'image',
    'audio',
    'log_probabilities',
    'dataset_row',
    'metadata',
  ])
  .meta({ id: 'MetricNeed' });
export type MetricNeed = z.output<typeof MetricNeed>;

export const ScorerAction = z.enum(['update', 'delete', 'share', 'export', 'autotune_apply']);

export const ScorerResponse = z.object({
  ...scorerSettings,
  warnings: scorerWarnings,
  id: Uuid,
  permissions: z.array(z.object({ action: ScorerAction, allowed: z.boolean(), message: z.string().nullable() })),
  name: z.string(),
  scorer_type: ScorerType,
  latest_version: BaseScorerVersion.nullable(),
  default_version: BaseScorerVersion.nullable(),
  required_scorers: texts.nullable(),
  required_metric_ids: texts.nullable(),
  deprecated: z.boolean().nullable(),
  roll_up_config: z
    .object({ roll_up_methods: z.array(z.enum(['average', 'sum', 'max', 'min', 'category_count'])).min(1) })
    .nullable(),
  label: z.string(),
  tags: texts,
  included_fields: texts,
  created_by: Uuid.nullable(),
  created_at: Timestamp.nullable(),
  updated_at: Timestamp.nullable(),
  /** The colours of a number once more: older clients look for them under this name. */
  color_threshold_config: NumericColorPicker.nullish(),
  metric_name: z.string().nullable(),
  needs: z
    .array(MetricNeed)
    .describe(
      'What there must be for a value: a model that judges, and parts of the record without which it is not applicable. Of a scorer with a prompt, what its default version asks for.',
    ),
  is_global: z.boolean(),
  scope_projects: z.array(z.object({ id: Uuid, name: z.string() })),
});
