import type { ServerResponse } from 'node:http';
import type { Answer } from './modelEndpoint.ts';

/** An answer of a model that a test writes piece by piece. */
export interface StreamedAnswer {
  /** For `ModelEndpoint.next`. */
  answer: Answer;
  /** Fulfilled when the request has come. */
  asked: Promise<void>;
  /** Fulfilled when the caller has broken it off. */
  left: Promise<void>;
  say(...texts: string[]): Promise<void>;
  /** Ends it, with 7 input tokens and 5 output tokens. */
  end(): Promise<void>;
}

export function streamedAnswer(): StreamedAnswer {
  const response = Promise.withResolvers<ServerResponse>();
  const left = Promise.withResolvers<void>();
  const send = async (data: unknown) =>
    void (await response.promise).write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  const piece = (delta: object, finish: string | null = null) => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'a-model' },
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  return {
    answer(_request, given) {
      given.writeHead(200, { 'content-type': 'text/event-stream' });
      given.once('close', () => left.resolve());
      response.resolve(given);
    },
    asked: response.promise.then(() => undefined),
    left: left.promise,
    async say(...texts) {
      for (const text of texts) await send(piece({ content: text }));
    },
    async end() {
      await send(piece({}, 'stop'));
      await send({ ...piece({}), choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } });
      await send('[DONE]');
      (await response.promise).end();
    },
  };
}
