import type { Modality, RunParameter } from '../wire/integrations.ts';

/** The run parameters that a model takes, each with its name in a chat completion request. */
export type ParameterMap = Readonly<Partial<Record<RunParameter, string>>>;

/** Models of one provider that take the same parameters. */
export interface ModelFamily {
  /** Names of the models at the provider, which are also their aliases. */
  names: readonly string[];
  /** Other names of some models, by their names: those that people use where they are not the name in another spelling. */
  otherNames?: Readonly<Record<string, readonly string[]>>;
  parameters: ParameterMap;
  modalities: readonly Modality[];
}

// No map holds logprobs: run settings ask for them by default, and they multiply the size of an answer. A call says itself where they are wanted.
/** Parameters that most endpoints of this protocol take. They hold where a model states none. */
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
export const textImagesAndDocuments: readonly Modality[] = ['text', 'image', 'document'];
