import type { RunParameter } from '../wire/integrations.ts';
import type { CallableModel } from './models.ts';

/** Run settings as stored: wire names, all optional; unknown keys and null values are ignored. */
export type ModelSettings = Readonly<Record<string, unknown>>;

/** Values that say what a model does anyway. Leaving them out keeps endpoints working that do not know the field. */
const neutral: Partial<Record<RunParameter, unknown>> = {
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  n: 1,
  echo: false,
};

/** The model is sent in its own field; the other two choose an address. */
const notInBody: ReadonlySet<string> = new Set<RunParameter>(['model', 'api_version', 'deployment_name']);

/** The fields of a chat completion request that stand for `settings`: only those the model takes, under its names for them. */
export function requestParameters(
  model: Pick<CallableModel, 'parameters' | 'parametersAreListed'>,
  settings: ModelSettings,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [parameter, name] of Object.entries(model.parameters) as [RunParameter, string][]) {
    const value = settings[parameter];
    if (value === null || value === undefined || notInBody.has(parameter)) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    if (!model.parametersAreListed && neutral[parameter] === value) continue;
    body[name] = value;
  }
  // Refused by endpoints when what they refer to is absent.
  if (body.tools === undefined) delete body.tool_choice;
  if (body.logprobs !== true) delete body.top_logprobs;
  return body;
}
