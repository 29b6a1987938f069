import type { z } from 'zod';
import type { GeneratedScorerValidationResponse, ValidateLLMScorerResponse } from '../shared/wire/judgeTryOut.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { CreateJudgeOptions } from './createJudge.ts';
import { ValueError } from './errors.ts';
import { type RunChoice, runOf } from './recordChoice.ts';

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
