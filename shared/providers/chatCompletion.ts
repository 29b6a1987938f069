import { headersOf, type OutboundGuard, type OutboundRequest } from '../integrations/outbound.ts';
import { parsedOrNothing } from '../json/parseJson.ts';
import { AttemptFailure, connectionFailure, httpFailure } from './failures.ts';
import type { HandlerAnswer } from './handlers/customHandler.ts';
import { readCompletion } from './readCompletion.ts';
import { holdsError } from './readError.ts';

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
    const text = utf8.decode(answer.bytes);
    const said = parsedOrNothing(text);
    if (status < 200 || status > 299) throw httpFailure(ENDPOINT, status, headersOf(answer.headers), said ?? text);
    return answerIn(said, status, headersOf(answer.headers));
  };
}

const utf8 = new TextDecoder();

/** `/chat/completions` below a base URL; its query, if any, stays. */
function completionsUrl(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
  return url.href;
}

/** @throws AttemptFailure for an answer that is none, or that holds an error beside its status */
function answerIn(said: unknown, status: number, headers: Headers): HandlerAnswer {
  const completion = readCompletion(said);
  const isAnswered = completion && !completion.isFailed && (completion.content !== '' || completion.toolCalls !== undefined);
  // Some say `"error": {…}` beside an answer that is whole.
  if (!isAnswered && holdsError(said)) throw httpFailure(ENDPOINT, status, headers, said);
  if (!completion)
    throw new AttemptFailure('malformed_answer', `${ENDPOINT}'s answer is not a chat completion`, { retry: false, status });
  const { isFailed, failure, ...answer } = completion;
  if (isFailed && failure != null) throw httpFailure(ENDPOINT, status, headers, { error: failure });
  if (isFailed)
    throw new AttemptFailure('http_error', `${ENDPOINT} ended its answer with an error (finish_reason "error")`, {
      retry: false,
    });
  return answer;
}
