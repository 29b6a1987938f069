import { z } from 'zod';
import { orDefault, Timestamp, Uuid } from './common.ts';
import { PromptRunSettings } from './prompts.ts';
import { NamedScorerConfig, ScorerConfig, SegmentFilter } from './scorers.ts';

export const JobParams = z.object({ job_id: Uuid });
export const RunParams = z.object({ project_id: Uuid, run_id: Uuid });
export const JobsQuery = z.object({ status: z.string().optional() });

/** The name under which clients read the scoring of a run, one job per scorer. */
export const SCORER_JOB = 'log_stream_scorer';
/** The job that runs the rows of an experiment. */
export const RUN_JOB = 'playground_run';
/** The jobs that run the rows of an experiment, by their older names as well. */
const runJobs: readonly string[] = [RUN_JOB, 'prompt_run'];
/** The jobs that have stored records of a run scored, by their older names as well. */
export const scoringJobs: readonly string[] = [
  ...[SCORER_JOB, 'log_stream_run', 'prompt_scorer', 'prompt_chain_run', 'monitor_scorer', 'monitor_run'],
];
/** The jobs that can be started here. */
export const startableJobs: readonly string[] = [...runJobs, ...scoringJobs];

/** The other jobs that clients know, each with what does here what they did, as far as anything does. */
export const otherJobs: Readonly<Record<string, string>> = {
  auto_gen: 'POST /v2/scorers/llm/autogen has a model draft a judge',
  auto_metric_suggestion: 'nothing suggests metrics: POST /v2/scorers/list has them all, with what each needs',
  default: `name the job: ${RUN_JOB} runs an experiment, ${SCORER_JOB} scores what is stored`,
  generated_scorer_validation: 'POST /v2/scorers/llm/validate tries a judge out',
  inference: `it belongs to another product: ${SCORER_JOB} scores what is stored`,
  log_record_generated_scorer_validation: 'POST /v2/scorers/llm/validate/log_record tries a judge out on stored records',
  logstream_insights: 'nothing sums a log stream up in words: POST /v2/projects/{project_id}/metrics/search has its figures',
  lykos_migration: 'it belongs to another product, and there is nothing to migrate',
  metric_critique:
    'POST /v2/projects/{project_id}/metrics-testing/{run_id}/health-score compares a metric with known values; correct it by a new version',
  prompt_optimization: 'nothing rewrites prompts: compare versions of them by experiments',
  prompt_rater: 'people rate records in queues: POST /v2/annotation_queues',
  protect_scorer: `nothing is blocked before it is answered: ${SCORER_JOB} scores what is stored`,
  registered_scorer_validation: 'POST /v2/scorers/code/validate tries code out',
  synthetic_datagen: 'POST /v2/datasets/extend has a model write rows',
};

const withDefault = <T extends z.ZodType, V>(schema: T, byDefault: V) =>
  schema.nullish().transform((value) => value ?? byDefault);
const texts = z.array(z.string());
const free = z.record(z.string(), z.unknown());

const fields = {
  resource_limits: z.object({ cpu_time: orDefault(z.int(), 216), memory_mb: orDefault(z.int(), 160) }).nullish(),
  project_id: Uuid,
  run_id: Uuid,
  job_id: Uuid.nullish(),
  job_name: withDefault(z.string().max(255), SCORER_JOB as string),
  should_retry: withDefault(z.boolean(), true),
  user_id: Uuid.nullish(),
  task_type: z.literal([7, 9, 12, 13, 15, 16, 17, 18]).nullish(),
  labels: withDefault(z.union([z.array(texts), texts]), [] as string[]),
  ner_labels: texts.nullish(),
  tasks: texts.nullish(),
  non_inference_logged: withDefault(z.boolean(), false),
  migration_name: z.string().nullish(),
  xray: withDefault(z.boolean(), true),
  process_existing_inference_runs: withDefault(z.boolean(), false),
  feature_names: texts.nullish(),
  prompt_dataset_id: Uuid.nullish(),
  dataset_id: Uuid.nullish(),
  dataset_version_index: z.int32().nullish(),
  prompt_template_version_id: Uuid.nullish(),
  monitor_batch_id: Uuid.nullish(),
  protect_trace_id: Uuid.nullish(),
  protect_scorer_payload: z.string().nullish(),
  prompt_settings: PromptRunSettings.nullish(),
  // An older form names a metric instead of giving a scorer's id.
  scorers: z
    .array(z.union([ScorerConfig, NamedScorerConfig]))
    .max(200)
    .nullish(),
  prompt_registered_scorers_configuration: z.array(free).nullish(),
  prompt_generated_scorers_configuration: texts.nullish(),
  prompt_finetuned_scorers_configuration: z.array(free).nullish(),
  prompt_scorers_configuration: free.nullish(),
  prompt_customized_scorers_configuration: z.array(free).nullish(),
  prompt_scorer_settings: free.nullish(),
  scorer_config: ScorerConfig.nullish(),
  sub_scorers: withDefault(texts, [] as string[]),
  luna_model: z.string().nullish(),
  segment_filters: z.array(SegmentFilter).max(100).nullish(),
  is_session: z.boolean().nullish(),
  validation_config: free.nullish(),
  upload_data_in_separate_task: withDefault(z.boolean(), true),
  log_metric_computing_records: withDefault(z.boolean(), true),
  stream_metrics: withDefault(z.boolean(), false),
  multijudge_average_boolean_metrics: withDefault(z.boolean(), false),
  store_metric_ids: withDefault(z.boolean(), false),
  trace_ids: withDefault(z.array(Uuid).max(64), [] as string[]),
};

export const CreateJobRequest = z.object(fields).meta({ id: 'CreateJobRequest' });
export type CreateJobRequest = z.output<typeof CreateJobRequest>;

export const CreateJobResponse = z
  .object({ ...fields, job_id: Uuid, message: z.string(), link: z.string() })
  .meta({ id: 'CreateJobResponse' });

export const jobStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;

export const JobResponse = z
  .object({
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    failed_at: Timestamp.nullable(),
    completed_at: Timestamp.nullable(),
    processing_started: Timestamp.nullable(),
    job_name: z.string(),
    migration_name: z.string().nullable(),
    project_id: Uuid,
    run_id: Uuid,
    monitor_batch_id: Uuid.nullable(),
    status: z.enum(jobStatuses),
    retries: z.int(),
    request_data: free,
    error_message: z.string().nullable(),
    progress_message: z.string().nullable(),
    steps_completed: z.int(),
    steps_total: z.int(),
    progress_percent: z.number().describe('Fraction; 1.0 = done.'),
  })
  .meta({ id: 'JobDB' });
export type JobResponse = z.output<typeof JobResponse>;
export const JobList = z.array(JobResponse);
