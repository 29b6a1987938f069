import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import { headersOf, type OutboundGuard, type OutboundRequest } from '../integrations/outbound.ts';
import { AttemptFailure, connectionFailure, httpFailure } from './failures.ts';
import type { HandlerAnswer } from './handlers/customHandler.ts';

export interface ChatRequest {
  /** Base URL, or the full address when its path ends in `/chat/completions`. */
  endpoint: string;
  /** The whole request in the protocol's words. */
  body: Record<string, unknown>;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Is asked before a large answer is read. */
  reserve?: OutboundRequest['reserve'];
}

/** One request of the OpenAI chat protocol, without retries. @throws AttemptFailure, or the signal's reason. */
export type CompleteChat = (request: ChatRequest) => Promise<HandlerAnswer>;

/** Bytes of a completion that are read. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

const ENDPOINT = 'the model endpoint';

/**
 * Settings and messages are stored in the protocol's own words, so the request goes out as it stands: translating it into the words of the SDK and
 * back would lose fields. The SDK reads the answer.
 */
const sdk = new OpenAICompatibleChatLanguageModel('per request', { provider: 'assay.chat', url: () => '' });

/** @param request the outbound guard's */
export function createChatCompletion(request: OutboundGuard['request']): CompleteChat {
  return async ({ endpoint, body, headers, signal, reserve }) => {
    const answer = await request(completionsUrl(endpoint), {
      method: 'POST',
      headers: { 'user-agent': 'assay', ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      most: MAX_ANSWER_BYTES,
      reserve,
    }).catch((err: unknown) => {
      signal.throwIfAborted();
      throw connectionFailure(ENDPOINT, err);
    });
    const { status } = answer;
    const said = jsonOf(answer.bytes);
    if (status < 200 || status > 299) throw httpFailure(ENDPOINT, status, headersOf(answer.headers), said);
    try {
      return toAnswer(await sdk.convertResponse({ body: said }));
    } catch {
      throw new AttemptFailure('malformed_answer', `${ENDPOINT}'s answer is not a chat completion`, { retry: false, status });
    }
  };
}

const utf8 = new TextDecoder();

/** What the bytes say as JSON; undefined when they are none. */
function jsonOf(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

/** `/chat/completions` below a base URL; its query, if any, stays. */
function completionsUrl(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
  return url.href;
}

type Generated = Awaited<ReturnType<OpenAICompatibleChatLanguageModel['convertResponse']>>;

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
      ...(usage.inputTokens.cacheWrite !== undefined && { cacheWriteTokens: usage.inputTokens.cacheWrite }),
      ...(usage.outputTokens.reasoning !== undefined && { reasoningTokens: usage.outputTokens.reasoning }),
    }),
  };
}
