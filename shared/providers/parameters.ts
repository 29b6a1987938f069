import type { RunParameter } from '../wire/integrations.ts';
import type { ParameterMap } from './modelFamily.ts';

/** Run settings as stored: wire names, all optional; unknown keys and null values are ignored. */
export type ModelSettings = Readonly<Record<string, unknown>>;

/** The parameters that a model accepts. */
export interface ModelParameters {
  parameters: ParameterMap;
  /** True when the integration lists the parameters itself: then each is sent whatever its value. */
  parametersAreListed: boolean;
}

/** Values that say what a model does anyway. Leaving them out keeps endpoints working that do not know the field. */
const neutral: Partial<Record<RunParameter, unknown>> = {
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  n: 1,
  echo: false,
};

/** Defaults that the interface fills in where a request has no value. The caller did not ask for them. */
const filledIn: Partial<Record<RunParameter, unknown>> = {
  ...neutral,
  max_tokens: 4096,
  top_k: 40,
  logprobs: true,
  top_logprobs: 5,
  reasoning_effort: 'medium',
  verbosity: 'medium',
};

/** Settings of ours, which no model is sent. */
const ours: ReadonlySet<string> = new Set(['model_alias', 'known_models', 'include_reasoning']);

/** Settings that the model is not sent although they were asked for: it does not take them, or there are no such settings. */
export const unsentSettings = (model: ModelParameters, settings: ModelSettings): string[] =>
  Object.entries(settings)
    .filter(([name, value]) => isAsked(name, value) && !(name in model.parameters) && !ours.has(name) && !notInBody.has(name))
    .map(([name]) => name)
    .sort();

function isAsked(name: string, value: unknown): boolean {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return false;
  return name === 'logprobs' ? value !== false && filledIn.logprobs !== value : filledIn[name as RunParameter] !== value;
}

/** The model is sent in its own field; the other two choose an address. */
const notInBody: ReadonlySet<string> = new Set<RunParameter>(['model', 'api_version', 'deployment_name']);

/**
 * Returns `settings` as fields of a chat completion request: only those that the model accepts, under its names for them.
 * @param areFilledIn whether the settings hold the interface's defaults
 */
export function requestParameters(model: ModelParameters, settings: ModelSettings, areFilledIn = false): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [parameter, name] of Object.entries(model.parameters) as [RunParameter, string][]) {
    const value = settings[parameter];
    if (value === null || value === undefined || notInBody.has(parameter)) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    if (!model.parametersAreListed && (areFilledIn ? filledIn : neutral)[parameter] === value) continue;
    body[name] = value;
  }
  // Refused by endpoints when what they refer to is absent.
  if (body.tools === undefined) delete body.tool_choice;
  if (body.logprobs !== true) delete body.top_logprobs;
  return body;
}
