import type { Modality, RunParameter } from '../wire/integrations.ts';

/** Which run parameters a model takes, each with its name in a chat completion request. */
export type ParameterMap = Readonly<Partial<Record<RunParameter, string>>>;

/** Models of one provider that take the same parameters. */
export interface ModelFamily {
  /** What the provider calls them; also their aliases. */
  names: readonly string[];
  /** What some of them are called besides, by their names: what people call them where that is not the name in another spelling. */
  otherNames?: Readonly<Record<string, readonly string[]>>;
  parameters: ParameterMap;
  modalities: readonly Modality[];
}

// No map holds logprobs: run settings ask for them by default, nothing here reads them, and they multiply the size of an answer.
/** What most endpoints of this protocol take; used where a model says nothing about itself. */
export const chat = {
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
  seed: 'seed',
} as const satisfies ParameterMap;

export const textOnly: readonly Modality[] = ['text'];
export const textAndImages: readonly Modality[] = ['text', 'image'];
