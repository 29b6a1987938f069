import type { z } from 'zod';
import type { CodeMetricGenerationStatusResponse, CreateCodeMetricGenerationResponse } from '../shared/wire/codeGenerations.ts';
import type {
  RegisteredScorerTaskResultResponse,
  ValidateCodeScorerResponse,
  ValidateRegisteredScorerResult,
  ValidResult,
} from '../shared/wire/codeScorers.ts';
import type { ValidateLLMScorerResponse } from '../shared/wire/judgeTryOut.ts';
import type { ScorerVersionResponse } from '../shared/wire/scorerVersions.ts';
import { type CallOptions, clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';
import { type CreateJudgeOptions, type JudgeTryOut, tryOutOf } from './judges.ts';
import { createMetric, type Metric } from './metrics.ts';
import { type RunChoice, runOf } from './recordChoice.ts';
import { untilAnswered } from './untilAnswered.ts';

export interface CodeOptions extends CallOptions {
  /** Source: Python that defines `scorer_fn`, or JavaScript that exports a function. */
  code: string;
  /** Kinds of records that it scores, such as `trace`; without them those that the code names, else `llm`. */
  kinds?: string[] | undefined;
  /** Metrics whose values the code gets, by name, label or id. */
  requiredMetrics?: string[] | undefined;
}

export interface ValidateCodeMetricOptions extends CodeOptions {
  /** A record that the code scores, of each of its kinds; without one it is loaded alone. */
  sample?: { input?: string | undefined; output?: string | undefined } | undefined;
}

/** The result of a check of code: the type of its values, the kinds of records and what it gave for the sample. */
export type CodeValidation = ValidResult;

/** Code that the service cannot use; the message says why. */
export class InvalidCodeError extends Error {
  override name = 'InvalidCodeError';
}

const VALIDATION_POLL_MS = 300;
const GENERATION_POLL_MS = 500;
/** The service begins values for 60 s and waits for 90. */
const TIMEOUT_MS = 120_000;
const DEFAULT_LIMIT = 10;

/**
 * Has the service check code, and waits for what comes of it.
 * @throws InvalidCodeError for code that cannot be used, HttpStatusError 403 where the service runs none, 422 for an unknown metric that it requires
 */
export async function validateCodeMetric(options: ValidateCodeMetricOptions): Promise<CodeValidation> {
  const client = clientOf(options);
  const form = formOf(options);
  const { input, output } = options.sample ?? {};
  if (input !== undefined) form.append('test_input', input);
  if (output !== undefined) form.append('test_output', output);
  const { task_id } = await client.send<z.output<typeof ValidateCodeScorerResponse>>('/scorers/code/validate', { form });
  const ended = async (): Promise<Task | undefined> => {
    const task = await client.send<Task>(`/scorers/code/validate/${task_id}`);
    return task.status === 'pending' ? undefined : task;
  };
  const { result } = await untilAnswered(ended, VALIDATION_POLL_MS, options.signal);
  if (typeof result === 'string' || result === null) throw new InvalidCodeError(result ?? 'the check has no result');
  if (result.result.result_type === 'invalid') throw new InvalidCodeError(result.result.error_message);
  return result.result;
}

type Task = z.output<typeof RegisteredScorerTaskResultResponse>;

export interface CreateCodeMetricOptions
  extends ValidateCodeMetricOptions,
    Pick<CreateJudgeOptions, 'name' | 'description' | 'tags' | 'direction' | 'range'> {
  /** How its values are meant; without it the first that suits their type. */
  outputType?: Metric['output_type'] | undefined;
}

/**
 * Creates a metric of code: checks the code, and makes the metric with its first version. One that is refused leaves nothing behind.
 * @throws ValueError without name or code; InvalidCodeError as `validateCodeMetric`; HttpStatusError 409 when the name is taken, 422 for settings that
 * cannot be right.
 */
export async function createCodeMetric(options: CreateCodeMetricOptions): Promise<Metric> {
  const { name, code, description, tags, direction, range, outputType: output_type, requiredMetrics: required_scorers } = options;
  if (!name || !code) throw new ValueError('a metric of code needs a name and its code');
  const validation = await validateCodeMetric(options);
  const scorer = { name, scorer_type: 'code', description, tags, direction, range, output_type, required_scorers };
  return createMetric(options, scorer, (client, id) => client.send(versionPath(id), { form: versionForm(options, validation) }));
}

/**
 * Checks code and makes it the next version of a metric, the latest and the default. Runs that have begun keep the version that they began with.
 * @returns its number
 * @throws as `createCodeMetric`; NotFoundError when there is no such metric
 */
export async function addCodeMetricVersion(options: ValidateCodeMetricOptions & { id: string }): Promise<number> {
  const validation = await validateCodeMetric(options);
  const form = versionForm(options, validation);
  const added = await clientOf(options).send<z.output<typeof ScorerVersionResponse>>(versionPath(options.id), { form });
  return added.version;
}

export interface TryCodeMetricOptions extends OperationOptions, CodeOptions {
  /** Stored records: their run and, as a search has them, filters. One of records and dataset is needed. */
  records?:
    | (Omit<RunChoice, 'metricsTestingId'> & { filters?: Record<string, unknown>[]; filterTree?: Record<string, unknown> })
    | undefined;
  /** Rows of a dataset: of the current version without a `versionIndex`. */
  dataset?: { id: string; versionIndex?: number | undefined } | undefined;
  /** Samples at most: 10 without it, and never more than 100. */
  limit?: number | undefined;
}

/**
 * Has code that is not saved score some samples. Code that fails on every sample rejects nothing: `summary` says why. A project is needed for a dataset.
 * @throws ValueError unless exactly one of records and dataset is given; HttpStatusError 422 for code that cannot be loaded
 */
export async function tryCodeMetric(options: TryCodeMetricOptions): Promise<JudgeTryOut> {
  const { records, dataset, limit = DEFAULT_LIMIT } = options;
  if ([records, dataset].filter(Boolean).length !== 1) throw new ValueError('name what is scored: records or dataset');
  const client = clientOf(options);
  const form = formOf(options);
  form.append('limit', String(limit));
  if (records) {
    const { filters = [], filterTree } = records;
    for (const [key, id] of Object.entries(runOf(records))) if (id) form.append(key, id);
    form.append('filters', JSON.stringify(filterTree ? { and: [...filters, filterTree] } : filters));
  } else if (dataset) {
    form.append('project_id', await resolveProject(client, options));
    form.append('dataset_id', dataset.id);
    if (dataset.versionIndex !== undefined) form.append('dataset_version_index', String(dataset.versionIndex));
  }
  const path = `/scorers/code/validate/${records ? 'log_record' : 'dataset'}`;
  return tryOutOf(await client.send<z.output<typeof ValidateLLMScorerResponse>>(path, { form, timeoutMs: TIMEOUT_MS }));
}

export interface GenerateCodeMetricOptions extends CallOptions {
  /** A description of what the metric measures: at most 10,000 characters. */
  sentence: string;
  /** The kind of records that it scores: `trace` without it. */
  kind?: string | undefined;
  /** The model that writes; the default of the first integration without it. Its calls cost money. */
  modelName?: string | undefined;
}

/**
 * Has a model write the code of a metric, and waits for it. Nothing is saved.
 * @returns Python source that the service has run on a sample record
 * @throws InvalidCodeError where the model could not be asked or wrote nothing that can be used; HttpStatusError 422 for an unknown model or kind
 */
export async function generateCodeMetric(options: GenerateCodeMetricOptions): Promise<string> {
  const client = clientOf(options);
  const body = { user_message: options.sentence, node_type: options.kind, model_name: options.modelName };
  const begun = await client.send<z.output<typeof CreateCodeMetricGenerationResponse>>('/code-metric-generations', { body });
  type Status = z.output<typeof CodeMetricGenerationStatusResponse>;
  const ended = async (): Promise<Status | undefined> => {
    const found = await client.send<Status>(`/code-metric-generations/${begun.id}/status`);
    return found.status === 'generating' ? undefined : found;
  };
  const { status, generated_code: code, error_message: reason } = await untilAnswered(ended, GENERATION_POLL_MS, options.signal);
  if (status === 'failed' || code === null) throw new InvalidCodeError(reason ?? 'no code was written');
  return code;
}

const versionPath = (id: string): string => `/scorers/${encodeURIComponent(id)}/version/code`;

function formOf({ code, kinds, requiredMetrics }: CodeOptions): FormData {
  const form = new FormData();
  form.append('file', new Blob([code], { type: 'text/x-python' }), 'scorer.py');
  if (kinds?.length) form.append('scoreable_node_types', JSON.stringify(kinds));
  if (requiredMetrics?.length) form.append('required_scorers', JSON.stringify(requiredMetrics));
  return form;
}

function versionForm({ code }: CodeOptions, result: CodeValidation): FormData {
  const form = formOf({ code });
  form.append('validation_result', JSON.stringify({ result } satisfies z.input<typeof ValidateRegisteredScorerResult>));
  return form;
}
