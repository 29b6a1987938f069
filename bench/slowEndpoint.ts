import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface SlowEndpoint extends AsyncDisposable {
  url: string;
  /** Most calls that were answered at the same time, since the start or since `reset`. */
  most(): number;
  calls(): number;
  /** Forgets what was counted. @param msOf how long the n-th call from now on takes */
  reset(msOf: (index: number) => number): void;
  /** Each change of the calls in flight, in order of time. */
  changes(): readonly Change[];
  /** Different last messages so far: where each row has its own, rows that have started. */
  rows(): number;
  /** When the last of them started, in milliseconds of the process's clock. */
  lastStartedAt(): number;
}

export interface Change {
  /** Milliseconds of the process's clock. */
  at: number;
  inFlight: number;
}

/** An OpenAI-compatible endpoint that takes a known time and counts how many calls it has at once. A call whose caller has gone is not in flight. */
export async function slowEndpoint(msOfFirst: (index: number) => number): Promise<SlowEndpoint> {
  let inFlight = 0;
  let most = 0;
  let calls = 0;
  let msOf = msOfFirst;
  let changes: Change[] = [];
  let seen = new Set<string>();
  let lastStartedAt = 0;
  const change = (by: number) => {
    inFlight += by;
    most = Math.max(most, inFlight);
    changes.push({ at: performance.now(), inFlight });
  };
  const server = createServer(async (request, response) => {
    const index = calls++;
    change(+1);
    response.once('close', () => change(-1));
    const begun = performance.now();
    const body: Buffer[] = [];
    for await (const part of request) body.push(part);
    const { messages } = JSON.parse(Buffer.concat(body).toString()) as { messages: { content: string }[] };
    const content = messages.at(-1)?.content ?? '';
    if (!seen.has(content)) {
      seen.add(content);
      lastStartedAt = Math.max(lastStartedAt, begun);
    }
    await delay(msOf(index));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        id: `call-${index}`,
        object: 'chat.completion',
        created: 0,
        model: 'bench-model',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'an answer' } }],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    most: () => most,
    calls: () => calls,
    changes: () => changes,
    rows: () => seen.size,
    lastStartedAt: () => lastStartedAt,
    reset(msOfNext) {
      most = inFlight;
      calls = 0;
      msOf = msOfNext;
      changes = [];
      seen = new Set();
      lastStartedAt = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
