/** How the model is asked. Keys may stand in the interface's own spelling (`model_alias`) too. What is absent is the service's default. */
export interface PromptSettings {
  modelAlias?: string;
  temperature?: number | null;
  maxTokens?: number;
  topP?: number;
  topK?: number;
  n?: number;
  stopSequences?: string[] | null;
  frequencyPenalty?: number;
  presencePenalty?: number;
  reasoningEffort?: string;
  verbosity?: string;
  logprobs?: boolean;
  topLogprobs?: number;
  echo?: boolean;
  tools?: Record<string, unknown>[] | null;
  toolChoice?: string | { type?: string; function: { name: string } } | null;
  responseFormat?: Record<string, unknown> | null;
  deploymentName?: string | null;
  seed?: number | null;
  /** True: the output begins with what the model thought, between `<think>` and `</think>`. */
  includeReasoning?: boolean;
  [key: string]: unknown;
}

/** The settings in the interface's spelling. */
export const settingsKeys = (settings: PromptSettings): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );
