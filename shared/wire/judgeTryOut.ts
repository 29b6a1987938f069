import { z } from 'zod';
import { BodyFlag, orDefault, Uuid } from './common.ts';
import { jsonPart, part } from './formParts.ts';
import { metricStatuses } from './metricResults.ts';
import { MetricRange } from './metricScale.ts';
import { recordKinds } from './recordKinds.ts';
import { ContentParts } from './recordParts.ts';
import { LogRecordsQueryRequest } from './recordSearch.ts';
import { Categories, ChainPollTemplate, InputType, JudgeCount, MultimodalCapability, OutputType } from './scorers.ts';

/** Samples that one try-out scores at most. */
export const MAX_SAMPLES = 100;
/** Characters of a sample's texts that the answer shows; the metrics-testing run has them whole. */
export const SHOWN_CHARACTERS = 2_000;

const offset = z.int().min(0);
export const SampleLimit = z.int().min(1).max(MAX_SAMPLES).describe(`Samples to score, at most ${MAX_SAMPLES}.`);

/** How a judge is asked that is not saved yet. */
const TriedConfiguration = z
  .object({
    model_alias: z
      .string()
      .nullish()
      .describe('The model that judges. Absent or empty: the one that would judge if the scorer were saved without a model.'),
    model_names: z
      .array(z.string().min(1))
      .min(1)
      .max(10)
      .nullish()
      .describe('Several models that judge in turn, in place of `model_alias`; without `num_judges` each is asked once.'),
    num_judges: JudgeCount.nullish().describe('3 without it.'),
    output_type: orDefault(OutputType, 'boolean'),
    scoreable_node_types: orDefault(z.array(z.string()), []),
    cot_enabled: BodyFlag(false),
    ground_truth: BodyFlag(false),
    multimodal_capabilities: z.array(MultimodalCapability).nullish(),
    input_type: InputType.nullish(),
    range: MetricRange.nullish(),
    categories: Categories.nullish(),
    required_scorers: z
      .array(z.string())
      .nullish()
      .describe('Metrics, by name, label or id, whose values are computed before and shown to the judge.'),
    required_metric_ids: z
      .array(z.string())
      .nullish()
      .describe(
        'Their ids in the same order, as a scorer has them: a metric that was renamed since keeps the name that the prompt has for it.',
      ),
  })
  .meta({ id: 'TriedScorerConfiguration' });

const unsavedJudge = {
  query: z.string(),
  response: z.string(),
  chain_poll_template: ChainPollTemplate,
  scorer_configuration: TriedConfiguration,
  normalized_input: ContentParts.nullish(),
  user_prompt: z.string(),
};
export const ProjectOfTryOut = Uuid.nullish().describe(
  'The project that the try-out belongs to. A key limited to a project has that one without it.',
);

export const ValidateLLMScorerRequest = z
  .object({ ...unsavedJudge, project_id: ProjectOfTryOut })
  .meta({ id: 'ValidateLLMScorerRequest' });
export type UnsavedJudge = Omit<z.output<typeof ValidateLLMScorerRequest>, 'project_id'>;

/** Bytes of the files of one try-out: as base64 they fit into a request that the providers take. */
export const MAX_TRIED_FILE_BYTES = 10 * 1024 * 1024;

const Files = part(z.union([z.file(), z.array(z.file())])).transform((given) =>
  given === undefined || given === null ? [] : [given].flat(),
);

/** The same as the part `body` of a form, with files that belong to the question and to the answer. */
export const ManualLlmValidateForm = z.object({
  body: jsonPart(ValidateLLMScorerRequest),
  query_files: Files,
  response_files: Files,
});
export type TriedFiles = Pick<z.output<typeof ManualLlmValidateForm>, 'query_files' | 'response_files'>;

export const ValidateLLMScorerLogRecordRequest = LogRecordsQueryRequest.extend({
  ...unsavedJudge,
  limit: SampleLimit.nullish(),
  pagination: z.object({ starting_token: offset.nullish(), limit: SampleLimit.nullish() }).nullish(),
}).meta({ id: 'ValidateLLMScorerLogRecordRequest' });

export const ValidateLLMScorerDatasetRequest = z
  .object({
    ...unsavedJudge,
    dataset_id: Uuid,
    dataset_version_index: z.int().min(0).nullish(),
    limit: SampleLimit.nullish(),
    starting_token: offset.nullish(),
    sort: z.null({ error: 'rows are tried in the order of the dataset: leave sort out' }).optional(),
    project_id: ProjectOfTryOut,
  })
  .meta({ id: 'ValidateLLMScorerDatasetRequest' });

/** Which records of a run a metric is tried out on. */
export type TriedRecords = Pick<
  z.output<typeof ValidateLLMScorerLogRecordRequest>,
  | 'log_stream_id'
  | 'experiment_id'
  | 'metrics_testing_id'
  | 'filters'
  | 'filter_tree'
  | 'sort'
  | 'starting_token'
  | 'limit'
  | 'pagination'
  | 'previous_last_row_id'
>;
/** Which rows of a dataset. */
export type TriedRows = Pick<
  z.output<typeof ValidateLLMScorerDatasetRequest>,
  'dataset_id' | 'dataset_version_index' | 'starting_token' | 'limit'
>;

const tokens = z.int().nullable();
const cost = z.number().nullable();

const TriedSample = z
  .object({
    record_id: Uuid.nullable().describe('Its record in the metrics-testing run; null where there was nothing to judge any more.'),
    source: z.object({
      type: z.enum([...recordKinds, 'dataset_row', 'text']),
      id: z.string().nullable(),
      run_id: Uuid.nullable(),
    }),
    name: z.string(),
    input: z.string().nullable(),
    output: z.string().nullable(),
    reference: z.string().nullable(),
    status: z.enum(metricStatuses),
    value: z.unknown().describe('What the judge says, or the code gives; null where there is none.'),
    explanation: z.string().nullable(),
    reason: z.string().nullable().describe('Why there is no value.'),
    judges: z.array(z.unknown()).nullable().describe('The answer of each judge that gave one, where several were asked.'),
    calls: z.int().describe('Calls that a model answered.'),
    model: z.string().nullable(),
    cost: cost.describe('US dollars; null where it is not known.'),
    input_tokens: tokens,
    output_tokens: tokens,
  })
  .meta({ id: 'TriedSample' });
export type TriedSample = z.input<typeof TriedSample>;

const TryOutSummary = z
  .object({
    message: z.string(),
    samples: z.int(),
    with_value: z.int(),
    causes: z
      .array(z.object({ status: z.enum(metricStatuses), reason: z.string(), samples: z.int() }))
      .describe('Why samples have no value, the most frequent reason first.'),
    calls: z.int().describe('Calls that a model answered; failed ones are among the causes.'),
    cost: cost.describe('US dollars of the samples whose cost is known; null where it is of none.'),
    samples_of_unknown_cost: z.int().describe('Samples for which a judge answered without a known cost, or was not waited for.'),
    input_tokens: tokens,
    output_tokens: tokens,
  })
  .meta({ id: 'TryOutSummary' });
export type TryOutSummary = z.input<typeof TryOutSummary>;

export const tried = {
  project_id: Uuid,
  metric: z.string().describe('The metric that the values have in the metrics-testing run.'),
  matching: z.int().describe('Records or rows that the request finds; those of its page are scored.'),
  samples: z.array(TriedSample),
  summary: TryOutSummary,
};
export const GeneratedScorerValidationResponse = z
  .object({ task_result_id: Uuid, ...tried })
  .meta({ id: 'GeneratedScorerValidationResponse' });
export const ValidateLLMScorerResponse = z
  .object({ metrics_experiment_id: Uuid, ...tried })
  .meta({ id: 'ValidateLLMScorerResponse' });
