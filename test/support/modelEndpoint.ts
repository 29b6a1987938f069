import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  text: string;
  /** The body, where it is JSON. */
  body: Record<string, unknown>;
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** A local server that answers like a model provider, in any way a test needs: slow, wrong, cut off, or not at all. */
export interface ModelEndpoint {
  url: string;
  requests: ReceivedRequest[];
  /** Requests being answered now. */
  atOnce(): number;
  /** Most requests being answered at the same time, since the start or since `forgetMost`. */
  mostAtOnce(): number;
  forgetMost(): void;
  /** Answers of the next requests, in order; when they are used up, `otherwise` answers. */
  next(...answers: Answer[]): void;
  otherwise(answer: Answer): void;
  close(): Promise<void>;
}

export async function startModelEndpoint(): Promise<ModelEndpoint> {
  const requests: ReceivedRequest[] = [];
  let queue: Answer[] = [];
  let fallback: Answer = says('ok');
  let now = 0;
  let most = 0;
  const server = createServer(async (incoming, response) => {
    now++;
    most = Math.max(most, now);
    response.once('close', () => now--);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      text,
      body: text.startsWith('{') ? JSON.parse(text) : {},
    };
    requests.push(request);
    await (queue.shift() ?? fallback)(request, response);
  });
  // The caller closes what is idle: a busy process closes a connection before it has read the request that has come on it.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    atOnce: () => now,
    mostAtOnce: () => most,
    forgetMost: () => {
      most = now;
    },
    next: (...answers) => {
      queue = [...queue, ...answers];
    },
    otherwise: (answer) => {
      fallback = answer;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** A chat completion with this text: 12 input tokens, 4 of them cached, and 3 output tokens. */
export const says =
  (content: string, message: Record<string, unknown> = {}): Answer =>
  ({ body }, response) =>
    json(response, 200, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_760_000_000,
      model: body.model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content, ...message },
          finish_reason: message.tool_calls ? 'tool_calls' : 'stop',
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 4 } },
    });

export const fails =
  (status: number, body: unknown = { error: { message: 'no' } }, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    json(response, status, body, headers);

export const late =
  (ms: number, answer: Answer): Answer =>
  async (request, response) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await answer(request, response);
  };

/** Never answers. */
export const hangs: Answer = () => undefined;

/** Closes the connection in the middle of the answer. */
export const cutOff: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"choices": [');
  setTimeout(() => response.destroy(), 20);
};

export const sends =
  (status: number, text: string, headers: Record<string, string> = { 'content-type': 'application/json' }): Answer =>
  (_request, response) =>
    void response.writeHead(status, headers).end(text);

/** The start of an answer in pieces. */
export const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

/** An event of an answer in pieces, with this delta. */
export const pieceOf = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ model: 'real-name', choices: [{ index: 0, delta, ...more }] })}\n\n`;

/** The last events of such an answer: why it ended, and 12 input and 3 output tokens. */
export const endOfPieces = `${pieceOf({}, { finish_reason: 'stop' })}data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\ndata: [DONE]\n\n`;

/** An answer in pieces, byte for byte. */
export const streams =
  (...parts: (string | Uint8Array)[]): Answer =>
  async (_request, response) => {
    beginStream(response);
    for (const part of parts) await new Promise((resolve) => response.write(part, resolve));
    response.end();
  };
