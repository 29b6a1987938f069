import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { HandlerAnswer } from './customHandler.ts';
import { AttemptFailure, connectionFailure, httpFailure, isConnectionFailure } from './failures.ts';

export interface ChatRequest {
  /** Base URL, or the full address when its path ends in `/chat/completions`. */
  endpoint: string;
  /** The whole request in the protocol's words. */
  body: Record<string, unknown>;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** One request of the OpenAI chat protocol, without retries. @throws AttemptFailure, or the signal's reason. */
export type CompleteChat = (request: ChatRequest) => Promise<HandlerAnswer>;

const MAX_ENDPOINTS = 1_000;
const ENDPOINT = 'the model endpoint';

/** @param fetchGuarded the outbound guard's `fetch`. */
export function createChatCompletion(fetchGuarded: typeof fetch): CompleteChat {
  const models = new Map<string, OpenAICompatibleChatLanguageModel>();

  const modelAt = (endpoint: string): OpenAICompatibleChatLanguageModel => {
    const known = models.get(endpoint);
    if (known) return known;
    const url = completionsUrl(endpoint);
    const model = new OpenAICompatibleChatLanguageModel('per request', {
      provider: 'assay.chat',
      url: () => url,
      fetch: fetchGuarded,
      // Settings and messages are stored in the protocol's own words, so the request is ours as it stands: translating it into the SDK's words
      // and back would lose fields. The SDK sends it and reads the answer.
      transformRequestBody: ({ body }) => body,
    });
    if (models.size >= MAX_ENDPOINTS) models.delete(models.keys().next().value as string);
    models.set(endpoint, model);
    return model;
  };

  return async ({ endpoint, body, headers, signal }) => {
    try {
      const result = await modelAt(endpoint).doGenerate({
        prompt: [],
        headers,
        abortSignal: signal,
        providerOptions: { assay: { body: body as never } },
      });
      return toAnswer(result);
    } catch (err) {
      signal.throwIfAborted();
      throw toFailure(err);
    }
  };
}

/** `/chat/completions` below a base URL; its query, if any, stays. */
export function completionsUrl(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
  return url.href;
}

type Generated = Awaited<ReturnType<OpenAICompatibleChatLanguageModel['doGenerate']>>;

function toAnswer({ content, finishReason, usage, response }: Generated): HandlerAnswer {
  const toolCalls = content.flatMap((part) =>
    part.type === 'tool-call'
      ? [{ id: part.toolCallId, type: 'function' as const, function: { name: part.toolName, arguments: part.input } }]
      : [],
  );
  return {
    content: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(response?.modelId !== undefined && { model: response.modelId }),
    ...(finishReason.raw !== undefined && { finishReason: finishReason.raw }),
    // Without a `usage` in the answer the SDK's counts are zeros, which would be a claim.
    ...(usage.raw !== undefined && {
      inputTokens: usage.inputTokens.total ?? 0,
      cachedInputTokens: usage.inputTokens.cacheRead ?? 0,
      outputTokens: usage.outputTokens.total ?? 0,
    }),
  };
}

/** The SDK's APICallError: `statusCode` is that of the answer; `data` is its error body where that has the protocol's form. */
interface ApiCallError {
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  data?: unknown;
}

function toFailure(err: unknown): AttemptFailure {
  const { statusCode, responseHeaders, data } = err as ApiCallError;
  if (statusCode !== undefined && (statusCode < 200 || statusCode > 299))
    return httpFailure(ENDPOINT, statusCode, new Headers(responseHeaders), data);
  if (err instanceof Error && (err.name === 'OutboundRefused' || isConnectionFailure(err)))
    return connectionFailure(ENDPOINT, err);
  if (statusCode === undefined && err instanceof Error && err.name === 'AI_APICallError') return connectionFailure(ENDPOINT, err);
  return new AttemptFailure('malformed_answer', `${ENDPOINT}'s answer is not a chat completion`, {
    retry: false,
    status: statusCode,
  });
}
