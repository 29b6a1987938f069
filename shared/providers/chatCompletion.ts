import { parsedOrNothing } from '../json/parseJson.ts';
import { headersOf, type OutboundGuard, type OutboundRequest, type OutboundStream } from '../outbound/outbound.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import type { ComingCompletion } from './comingCompletion.ts';
import { eventData } from './eventData.ts';
import { AttemptFailure, connectionFailure, httpFailure } from './failures.ts';
import type { HandlerAnswer } from './handlers/customHandler.ts';
import { protocolUrl } from './provider.ts';
import { readCompletion } from './readCompletion.ts';
import { holdsError } from './readError.ts';

export interface ChatRequest {
  url: string;
  /** The whole request in the words of OpenAI's protocol. */
  body: Record<string, unknown>;
  headers: Record<string, string>;
  /** The protocol that the endpoint speaks instead. */
  protocol?: ChatProtocol | undefined;
  /** Adds headers that depend on what is sent. */
  sign?: SignRequest | undefined;
  signal: AbortSignal;
  /** Is asked before a large answer is read. */
  reserve?: OutboundRequest['reserve'];
  /** Takes the answer piece by piece, where the body asks for that and the endpoint does it. */
  coming?: ComingCompletion | undefined;
}

/** @returns the headers of the request, with those that prove who sends it */
export type SignRequest = (request: {
  url: string;
  headers: Record<string, string>;
  body: string;
}) => Promise<Record<string, string>>;

/** One request of the OpenAI chat protocol, or of another one, without retries. @throws AttemptFailure, or the signal's reason. */
export type CompleteChat = (request: ChatRequest) => Promise<HandlerAnswer>;

/** Bytes of a completion that are read. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

const ENDPOINT = 'the model endpoint';

export function createChatCompletion(outbound: Pick<OutboundGuard, 'request' | 'open'>): CompleteChat {
  return async ({ url, body, headers, protocol, sign, signal, reserve, coming }) => {
    const text = JSON.stringify(protocol ? protocol.toRequest(body) : body);
    const asJson = { 'user-agent': 'assay', ...headers, 'content-type': 'application/json' };
    const sent = {
      method: 'POST',
      headers: sign ? await sign({ url, headers: asJson, body: text }) : asJson,
      body: text,
      signal,
      most: MAX_ANSWER_BYTES,
    };
    try {
      if (coming && body.stream === true) return await streamed(await outbound.open(url, sent), coming, protocol);
      const { status, headers: received, bytes } = await outbound.request(url, { ...sent, reserve });
      const answer = wholeAnswer(utf8.decode(bytes), status, headersOf(received), protocol);
      coming?.takeWhole(answer);
      return answer;
    } catch (err) {
      if (err instanceof AttemptFailure) throw err;
      signal.throwIfAborted();
      throw connectionFailure(ENDPOINT, err);
    }
  };
}

const utf8 = new TextDecoder();

/** @throws AttemptFailure for an error, in whatever form */
function wholeAnswer(text: string, status: number, headers: Headers, protocol: ChatProtocol | undefined): HandlerAnswer {
  const said = parsedOrNothing(text);
  if (status < 200 || status > 299) {
    const error = protocol ? protocol.toError(said ?? text, headers) : (said ?? text);
    const meant = protocol && isObject(error) && isObject(error.error) ? error.error.status : undefined;
    throw httpFailure(ENDPOINT, typeof meant === 'number' ? meant : status, headers, error);
  }
  return answerIn(protocol ? protocol.toCompletion(said) : said, status, headers);
}

/** An answer that was asked for in pieces. Errors, and the answers of endpoints that do not stream, come whole. */
async function streamed(
  { status, headers: received, parts }: OutboundStream,
  coming: ComingCompletion,
  protocol: ChatProtocol | undefined,
): Promise<HandlerAnswer> {
  const headers = headersOf(received);
  if (status < 200 || status > 299 || headers.get('content-type')?.includes('json')) {
    const answer = wholeAnswer(await textOf(parts), status, headers, protocol);
    coming.takeWhole(answer);
    return answer;
  }
  const take = (other: Fields | string | undefined) => {
    if (typeof other === 'string')
      throw new AttemptFailure('malformed_answer', `${ENDPOINT}'s stream holds what is no part of a chat completion`, {
        retry: false,
        status,
      });
    if (other) throw httpFailure(ENDPOINT, status, headers, other);
  };
  if (protocol) {
    for await (const piece of protocol.pieces(parts)) take(coming.takePiece(piece));
  } else {
    for await (const event of eventData(parts)) {
      take(coming.take(event));
      if (coming.isEnded) break;
    }
  }
  if (!coming.isFinished)
    throw new AttemptFailure('malformed_answer', `${ENDPOINT} ended its stream before the answer was finished`, { retry: true });
  return answerIn(coming.body, status, headers);
}

async function textOf(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of parts) text += decoder.decode(part, { stream: true });
  return text + decoder.decode();
}

/** `/chat/completions` below a base URL; its query, if any, stays. An address that ends so is taken as it is. */
export const completionsUrl = (endpoint: string): string => protocolUrl(endpoint, '/chat/completions');

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
