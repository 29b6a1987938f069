import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import { untilAnswered } from '../../../client/untilAnswered.ts';
import type {
  CodeMetricGenerationStatusResponse,
  CreateCodeMetricGenerationRequest,
} from '../../../shared/wire/codeGenerations.ts';
import type {
  RegisteredScorerTaskResultResponse,
  ValidateCodeScorerResponse,
  ValidResult,
} from '../../../shared/wire/codeScorers.ts';
import type { ChosenRecords, ChosenRows, Tried } from './judgeTryOut.ts';
import type { Metric, MetricVersion, NewJudge } from './metrics.ts';
import { metricsChanged } from './metrics.ts';
import { send } from './service.ts';

/** Code that is not saved. */
export interface UnsavedCode {
  code: string;
  kinds: readonly string[];
  /** Metrics whose values it gets. */
  required: readonly string[];
  /** Their ids; none where the metric is new. */
  requiredIds: readonly string[];
}

/** The source of a version. */
export const codeQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['metrics', 'code', id, version],
    queryFn: ({ signal }) => send<string>(`/scorers/${id}/version/code`, { query: { version }, signal }),
  });

const BETWEEN_ASKING_MS = 300;
/** Milliseconds: the service itself waits for no value after 90 seconds. */
const TIMEOUT_MS = 120_000;

function formOf({ code, kinds, required, requiredIds }: UnsavedCode, more: Record<string, string>): FormData {
  const form = new FormData();
  form.append('file', new Blob([code], { type: 'text/x-python' }), 'scorer.py');
  form.append('scoreable_node_types', JSON.stringify(kinds));
  form.append('required_scorers', JSON.stringify(required));
  form.append('required_metric_ids', JSON.stringify(requiredIds));
  for (const [part, text] of Object.entries(more)) form.append(part, text);
  return form;
}

/** Has the service load the code. @throws Error with the reason why it cannot be used */
async function validated(unsaved: UnsavedCode): Promise<ValidResult> {
  type Task = z.output<typeof RegisteredScorerTaskResultResponse>;
  const form = formOf(unsaved, {});
  const begun = await send<z.output<typeof ValidateCodeScorerResponse>>('/scorers/code/validate', { form });
  const ended = async (): Promise<Task | undefined> => {
    const task = await send<Task>(`/scorers/code/validate/${begun.task_id}`);
    return task.status === 'pending' ? undefined : task;
  };
  const { result } = await untilAnswered(ended, BETWEEN_ASKING_MS, undefined);
  if (typeof result === 'string' || result === null) throw new Error(result ?? 'the code was not checked');
  if (result.result.result_type === 'invalid') throw new Error(`The code cannot be used: ${result.result.error_message}`);
  return result.result;
}

const addVersion = (id: string, unsaved: UnsavedCode, validation: object): Promise<MetricVersion> =>
  send(`/scorers/${id}/version/code`, { form: formOf(unsaved, { validation_result: JSON.stringify(validation) }) });

/** Makes a metric of code with its first version. One that is refused leaves nothing behind. @returns its id */
export async function createCodeMetric(projectId: string, scorer: NewJudge, unsaved: UnsavedCode): Promise<string> {
  const validation = await validated(unsaved);
  const body = { ...scorer, scorer_type: 'code', project_ids: [projectId] };
  const { id } = await send<Metric>('/scorers', { body, repeatable: false });
  try {
    await addVersion(id, unsaved, validation);
  } catch (err) {
    await send(`/scorers/${id}`, { method: 'DELETE', repeatable: true }).catch(() => undefined); // the first error says what is wrong
    throw err;
  }
  await metricsChanged();
  return id;
}

/** Adds a version, which becomes the default. @returns its number */
export async function addCodeVersion(id: string, unsaved: UnsavedCode): Promise<number> {
  const { version } = await addVersion(id, unsaved, await validated(unsaved));
  await metricsChanged();
  return version;
}

const tryOn = (path: string, unsaved: UnsavedCode, more: Record<string, string>): Promise<Tried> =>
  send(`/scorers/code/validate/${path}`, { form: formOf(unsaved, more), timeoutMs: TIMEOUT_MS });

/** Has code score records of a run. */
export function tryCodeOnRecords(unsaved: UnsavedCode, records: ChosenRecords): Promise<Tried> {
  const { log_stream_id, experiment_id, filter_tree, limit } = records;
  return tryOn('log_record', unsaved, {
    ...(log_stream_id ? { log_stream_id } : {}),
    ...(experiment_id ? { experiment_id } : {}),
    ...(filter_tree ? { filters: JSON.stringify(filter_tree) } : {}),
    limit: String(limit),
  });
}

/** Has code score the first rows of a dataset. */
export const tryCodeOnRows = (unsaved: UnsavedCode, { dataset_id, project_id, limit }: ChosenRows): Promise<Tried> =>
  tryOn('dataset', unsaved, { dataset_id, project_id, limit: String(limit) });

/**
 * Has a model write code, and waits for it.
 * @returns what it wrote last, and why that cannot be used where it cannot
 * @throws Error where the model could not be asked
 */
export async function writeCode(
  request: z.input<typeof CreateCodeMetricGenerationRequest>,
): Promise<{ code: string | null; problem: string | null }> {
  type Status = z.output<typeof CodeMetricGenerationStatusResponse>;
  const { id } = await send<{ id: string }>('/code-metric-generations', { body: request, repeatable: false });
  const ended = async (): Promise<Status | undefined> => {
    const found = await send<Status>(`/code-metric-generations/${id}/status`);
    return found.status === 'generating' ? undefined : found;
  };
  const { generated_code: code, error_message: problem } = await untilAnswered(ended, BETWEEN_ASKING_MS, undefined);
  if (code === null) throw new Error(problem ?? 'the model wrote no code');
  return { code, problem };
}
