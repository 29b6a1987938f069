import type { AssistantMessage, ChatMessage } from '../chatMessage.ts';
import type { CallContext } from '../provider.ts';

/** One model call, as a handler class gets it. */
export interface HandlerCall {
  /** The model's name at the endpoint. */
  model: string;
  messages: ChatMessage[];
  /** Request fields for the run settings the model takes, such as `temperature` and `max_tokens`. */
  parameters: Record<string, unknown>;
  /** The integration's endpoint, as it was saved. */
  endpoint: string;
  /** The integration's headers: its own, the authentication's and those of `custom_header_mapping`. */
  headers: Record<string, string>;
  context: CallContext;
  /** `fetch` under the service's rules for user-supplied addresses: redirects and private ranges are refused. */
  fetch: typeof fetch;
  /** Aborts when the call is cancelled or its time is over. */
  signal: AbortSignal;
}

/** The answer of a handler. Token counts are left out where the endpoint gives none. */
export interface HandlerAnswer {
  content: string;
  /** Thoughts of the model before its answer. They are no part of `content`. */
  reasoning?: string;
  /** The model's own words where it refused; `content` says it too. */
  refusal?: string;
  toolCalls?: AssistantMessage['tool_calls'];
  model?: string;
  finishReason?: string;
  inputTokens?: number;
  /** Those of `inputTokens` that were read from a cache. */
  cachedInputTokens?: number;
  /** Those of `inputTokens` that were written to a cache. */
  cacheWriteTokens?: number;
  outputTokens?: number;
  /** Where the endpoint says it: else the sum of both. */
  totalTokens?: number;
  /** Those of `outputTokens` that were reasoning. */
  reasoningTokens?: number;
  /** Log probabilities of the tokens of the answer, in their order. */
  logProbabilities?: readonly number[];
  /** Their mean, where only that is known. */
  averageLogProbability?: number;
  /** Log probabilities of the tokens of the prompt, in their order, without the first one. */
  promptLogProbabilities?: readonly number[];
}

/**
 * Base of the classes that `custom_llm_config` names. A file in HANDLERS_DIR imports it as `assay/handler`:
 *
 *     import { CustomHandler } from 'assay/handler';
 *     export class Echo extends CustomHandler {
 *       async complete({ messages }) { return { content: String(messages.at(-1)?.content) }; }
 *     }
 *
 * It runs in a process of its own, as runner modules do. One instance serves all calls of its integration, several at a time, until the process
 * dies; what may have brought it down is called again, in another process. To have a call tried again, throw an error with a `status` of 408, 429 or
 * 5xx (and `retryAfterMs`, if known); other errors end it.
 */
export abstract class CustomHandler {
  readonly initKwargs: Readonly<Record<string, unknown>>;

  /** @param initKwargs `init_kwargs` of the integration. */
  constructor(initKwargs: Record<string, unknown> = {}) {
    this.initKwargs = initKwargs;
  }

  abstract complete(call: HandlerCall): Promise<HandlerAnswer>;
}
