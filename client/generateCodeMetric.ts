import type { z } from 'zod';
import type { CodeMetricGenerationStatusResponse, CreateCodeMetricGenerationResponse } from '../shared/wire/codeGenerations.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { InvalidCodeError } from './codeMetric.ts';
import { untilAnswered } from './untilAnswered.ts';

const BETWEEN_ASKING_MS = 500;

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
  const { status, generated_code: code, error_message: reason } = await untilAnswered(ended, BETWEEN_ASKING_MS, options.signal);
  if (status === 'failed' || code === null) throw new InvalidCodeError(reason ?? 'no code was written');
  return code;
}
