import type { z } from 'zod';
import type { DefaultJudgeResponse } from '../shared/wire/defaultJudge.ts';
import type { JudgeAgreementResponse } from '../shared/wire/judgeAgreement.ts';
import type { GeneratedScorerValidationResponse, ValidateLLMScorerResponse } from '../shared/wire/judgeTryOut.ts';
import type { CreateLlmScorerVersionRequest } from '../shared/wire/scorerVersions.ts';
import { type CallOptions, clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';
import { createMetric, type Metric } from './metrics.ts';
import { type RecordChoice, type RunChoice, recordsOf, runOf } from './recordChoice.ts';

export interface CreateJudgeOptions extends CallOptions {
  /** The metric's name, by which experiments ask for it. */
  name: string;
  /** Instructions to the model: how it judges. */
  instructions: string;
  description?: string | undefined;
  tags?: string[] | undefined;
  /** The direction in which its numbers are better; true counts as 1. Without it comparisons and gates give no verdict, and a warning is logged. */
  direction?: 'higher' | 'lower' | undefined;
  /** Between which its numbers lie, of judges that count or rate. */
  range?: { min: number; max: number } | undefined;
  /** The labels that a judge of the kind categorical or multilabel may give; without them it gives any. */
  categories?: string[] | undefined;
  /** Metrics whose values the judge is shown, by name, label or id. They are computed before. */
  requiredMetrics?: string[] | undefined;
  /** Model, number of judges, kind of answer and so on, in the interface's spelling. */
  settings?: Omit<z.input<typeof CreateLlmScorerVersionRequest>, 'instructions'> | undefined;
}

/**
 * Creates a metric that a model judges. One that is refused leaves nothing behind.
 * @throws ValueError without name or instructions; HttpStatusError 409 when the name is taken, 422 for settings that cannot be right.
 */
export async function createJudge(options: CreateJudgeOptions): Promise<Metric> {
  const {
    name,
    instructions,
    description,
    tags,
    direction,
    range,
    categories,
    settings,
    requiredMetrics: required_scorers,
  } = options;
  if (!name || !instructions) throw new ValueError('a judge needs a name and instructions');
  const scorer = { name, scorer_type: 'llm', description, tags, direction, range, categories, required_scorers };
  return createMetric(options, scorer, (client, id) =>
    client.send(`/scorers/${id}/version/llm`, { body: { ...settings, instructions } }),
  );
}

export interface TryJudgeOptions
  extends OperationOptions,
    Pick<CreateJudgeOptions, 'instructions' | 'settings' | 'range' | 'categories' | 'requiredMetrics'> {
  /** Stored records: their run and, as a search has them, filters. One of records, dataset and text is needed. */
  records?: (RunChoice & { filters?: Record<string, unknown>[]; filterTree?: Record<string, unknown> }) | undefined;
  /** Rows of a dataset: of the current version without a `versionIndex`. */
  dataset?: { id: string; versionIndex?: number | undefined } | undefined;
  /** One question and its answer. */
  text?: { input: string; output: string } | undefined;
  /** Samples at most: 10 without it, and never more than 100. */
  limit?: number | undefined;
}

type Tried = z.output<typeof ValidateLLMScorerResponse>;

export interface JudgeTryOut extends Pick<Tried, 'project_id' | 'metric' | 'matching' | 'samples' | 'summary'> {
  /** The metrics-testing run that keeps the samples. */
  metricsTestingId: string;
}
export type TriedSample = Tried['samples'][number];

const DEFAULT_LIMIT = 10;
/** The service asks for 60 s and waits for 90. */
const TIMEOUT_MS = 120_000;

/**
 * Has a judge that is not saved judge some samples, as `createJudge` with the same options would make it. Its calls cost money; a judge that fails on
 * every sample rejects nothing: `summary` says why. A project is needed for a dataset or a text.
 * @throws ValueError without instructions or unless exactly one of records, dataset and text is given; HttpStatusError 422 for settings that cannot be right.
 */
export async function tryJudge(options: TryJudgeOptions): Promise<JudgeTryOut> {
  const { instructions, settings = {}, range, categories, records, dataset, text, limit = DEFAULT_LIMIT } = options;
  if (!instructions) throw new ValueError('a judge needs instructions');
  if ([records, dataset, text].filter(Boolean).length !== 1)
    throw new ValueError('name what is judged: records, dataset or text');
  const client = clientOf(options);
  const judge = {
    user_prompt: settings.user_prompt ?? (settings.chain_poll_template ? '' : instructions),
    chain_poll_template: settings.chain_poll_template ?? { template: '' },
    query: text?.input ?? '',
    response: text?.output ?? '',
    scorer_configuration: {
      model_alias: settings.model_name,
      model_names: settings.model_names,
      num_judges: settings.num_judges ?? settings.model_names?.length ?? 1,
      output_type: settings.output_type,
      scoreable_node_types: settings.scoreable_node_types,
      cot_enabled: settings.cot_enabled ?? true,
      input_type: settings.input_type,
      range,
      categories,
      required_scorers: options.requiredMetrics,
    },
  };
  const ask = <T>(path: string, body: object): Promise<T> =>
    client.send(`/scorers/llm/validate${path}`, { body: { ...judge, ...body }, timeoutMs: TIMEOUT_MS });
  if (records) {
    const { filters, filterTree: filter_tree } = records;
    return tryOutOf(await ask<Tried>('/log_record', { ...runOf(records), filters, filter_tree, limit }));
  }
  const project_id = await resolveProject(client, options);
  if (dataset) {
    const rows = { dataset_id: dataset.id, dataset_version_index: dataset.versionIndex, limit };
    return tryOutOf(await ask<Tried>('/dataset', { ...rows, project_id }));
  }
  const { task_result_id, ...tried } = await ask<z.output<typeof GeneratedScorerValidationResponse>>('', { project_id });
  return { ...tried, metricsTestingId: task_result_id };
}

export const tryOutOf = ({ metrics_experiment_id, ...tried }: Tried): JudgeTryOut => ({
  ...tried,
  metricsTestingId: metrics_experiment_id,
});

export interface JudgeAgreementOptions extends Omit<RecordChoice, 'kind'> {
  /** Name or id of a scorer, name of a built-in or logged metric; of a try-out its `metric`. */
  metric: string;
  /** Annotation templates; without them and a queue all by which these records can be rated. */
  templateIds?: readonly string[] | undefined;
  /** An annotation queue: its templates alone. */
  queueId?: string | undefined;
  /** From which number on the judge says yes; without it the middle of its range. */
  judgeThreshold?: number | undefined;
  /** From how many stars or points on people say yes. */
  peopleThreshold?: number | undefined;
}

export type JudgeAgreement = z.output<typeof JudgeAgreementResponse>;

/**
 * How far the values of a judge agree with the ratings of people: Cohen's kappa with its interval and the table of labels, for each annotation template.
 * @throws ValueError unless exactly one run is given; HttpStatusError 422 for a metric or a template that the run has not.
 */
export async function judgeAgreement(options: JudgeAgreementOptions): Promise<JudgeAgreement> {
  const { metric, templateIds, queueId, judgeThreshold, peopleThreshold } = options;
  const body = {
    ...recordsOf(options),
    metric,
    template_ids: templateIds,
    queue_id: queueId,
    judge_threshold: judgeThreshold,
    people_threshold: peopleThreshold,
  };
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/judge_agreement`, { body, repeatable: true });
}

export type DefaultJudge = z.output<typeof DefaultJudgeResponse>;

/** The model that judges where a metric of a project names none. */
export async function getDefaultJudge(options: OperationOptions = {}): Promise<DefaultJudge> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/default_judge`);
}

/**
 * Says which model judges where a metric of a project names none.
 * @param options.model as its integration lists it, or `integration/model`; null: none
 * @throws HttpStatusError 422 for a model that there is not, naming the closest.
 */
export async function setDefaultJudge(options: OperationOptions & { model: string | null }): Promise<DefaultJudge> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/default_judge`, {
    method: 'PUT',
    body: { model: options.model },
  });
}
