import { closestNames } from '../identifiers/closestNames.ts';
import type { Modality, RunParameter } from '../wire/integrations.ts';
import { findModel } from './findModel.ts';

/** Which run parameters a model takes, each with its name in a chat completion request. */
export type ParameterMap = Readonly<Partial<Record<RunParameter, string>>>;

export interface BuiltinModel {
  /** The name its provider calls it by; also its alias. */
  name: string;
  provider: 'openai' | 'mistral' | 'anthropic' | 'google';
  parameters: ParameterMap;
  modalities: readonly Modality[];
}

// No map holds logprobs: run settings ask for them by default, nothing here reads them, and they multiply the size of an answer.
const chat = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  top_p: 'top_p',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  n: 'n',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
} as const satisfies ParameterMap;

/** What most endpoints of this protocol take; used where a model says nothing about itself. */
export const defaultParameters: ParameterMap = chat;

// Reasoning models refuse sampling parameters (https://platform.openai.com/docs/guides/reasoning).
const reasoning: ParameterMap = {
  max_tokens: 'max_completion_tokens',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
  reasoning_effort: 'reasoning_effort',
};
const gpt5: ParameterMap = { ...reasoning, verbosity: 'verbosity' };

// https://docs.claude.com/en/api/openai-sdk: the other fields are ignored there or refused together.
const claude: ParameterMap = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  tools: 'tools',
  tool_choice: 'tool_choice',
};

// Since Opus 4.7 the sampling parameters are refused.
const { temperature: _, ...claudeAdaptive } = claude;

// https://ai.google.dev/gemini-api/docs/openai
const gemini: ParameterMap = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  top_p: 'top_p',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
  reasoning_effort: 'reasoning_effort',
};

const text: readonly Modality[] = ['text'];
const sighted: readonly Modality[] = ['text', 'image'];

const family = (
  provider: BuiltinModel['provider'],
  parameters: ParameterMap,
  modalities: readonly Modality[],
  names: readonly string[],
): BuiltinModel[] => names.map((name) => ({ name, provider, parameters, modalities }));

/**
 * Well-known models: what `based_on` may name, and the models of the providers that can be configured. The list is of November 2026, made from the
 * providers' pages and from reports of them; what is newer is called by its own name, and takes what most models take. A name stays when its provider
 * retires the model: stored integrations are based on it. The first of a provider is its default.
 */
export const builtinModels: readonly BuiltinModel[] = [
  ...family('openai', gpt5, sighted, ['gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano']),
  ...family('openai', gpt5, sighted, ['gpt-6.1-sol', 'gpt-6-astra', 'gpt-6-sol', 'gpt-6-luna']),
  ...family('openai', gpt5, sighted, ['gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-5.5', 'gpt-5.2']),
  ...family('openai', gpt5, sighted, ['gpt-5.4', 'gpt-5.4-mini', 'gpt-5.4-nano']),
  ...family('openai', reasoning, sighted, ['o1', 'o3', 'o4-mini']),
  ...family('openai', reasoning, text, ['o3-mini']),
  ...family('openai', chat, sighted, ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano', 'gpt-4o', 'gpt-4o-mini', 'gpt-4-turbo']),
  ...family('openai', chat, text, ['gpt-4', 'gpt-3.5-turbo']),
  ...family('mistral', chat, text, ['mistral-large-latest', 'mistral-small-latest', 'codestral-latest']),
  ...family('mistral', chat, text, ['devstral-medium-latest', 'ministral-8b-latest', 'ministral-3b-latest']),
  ...family('mistral', chat, text, ['magistral-medium-latest', 'magistral-small-latest']),
  ...family('mistral', chat, sighted, ['mistral-medium-latest', 'pixtral-large-latest']),
  ...family('anthropic', claudeAdaptive, sighted, [
    ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-fable-5-2', 'claude-fable-5-1'],
    ...['claude-opus-5', 'claude-sonnet-5', 'claude-opus-4-8', 'claude-opus-4-7'],
  ]),
  ...family('anthropic', claude, sighted, [
    ...['claude-opus-4-6', 'claude-sonnet-4-6', 'claude-opus-4-5', 'claude-opus-4-1', 'claude-sonnet-4-5', 'claude-haiku-4-5'],
    ...['claude-3-7-sonnet-latest', 'claude-3-5-haiku-latest'],
  ]),
  ...family('google', gemini, sighted, [
    ...['gemini-3.8-flash', 'gemini-3.7-flash', 'gemini-3.6-flash', 'gemini-3.5-flash', 'gemini-3.5-flash-lite'],
    ...['gemini-3.1-pro-preview', 'gemini-3.1-flash-lite'],
    ...['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-2.0-flash'],
  ]),
];

/** A name, and what is left of it where its ending only says that it is the newest: `Mistral Large` is `mistral-large-latest`. */
export const spellingsOf = (name: string): string[] => [name, name.replace(/-latest$/, '')];

/** The built-in model that `based_on` names. */
export function findBuiltinModel(wanted: string): BuiltinModel | undefined {
  const match = findModel(builtinModels, wanted, ({ name }) => spellingsOf(name));
  return match && 'model' in match ? match.model : undefined;
}

/** Names of built-in models that look most like this one. */
export const closestBuiltinModels = (wanted: string): string[] =>
  closestNames(
    wanted,
    builtinModels.map(({ name }) => name),
  );
