import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { log } from '../../client/index.ts';
import { type LoggedSpan, loggedTraces } from '../support/loggedTraces.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** Runs `work` as a trace, and gives what is stored of it. */
async function logged(work: () => unknown): Promise<LoggedSpan> {
  const [trace] = await loggedTraces(service, projectId, (logger) => logger.trace('go', work).catch(() => undefined));
  return trace as LoggedSpan;
}

const chunks = [
  { model: 'a-model-1', choices: [{ delta: { content: 'It ' } }] },
  { model: 'a-model-1', choices: [{ delta: { content: 'rains' } }] },
  { model: 'a-model-1', choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } },
];

/** Two pieces, the first after 20 ms. */
async function* pieces<T>(all: readonly T[], failure?: Error) {
  for (const [index, one] of all.entries()) {
    if (index === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    yield one;
  }
  if (failure) throw failure;
}

/** As the clients of model providers have it: an object with methods of its own that can be iterated. */
class ClientStream<T> {
  #closed = false;
  readonly all: readonly T[];
  constructor(all: readonly T[]) {
    this.all = all;
  }
  close() {
    this.#closed = true;
  }
  [Symbol.asyncIterator]() {
    return pieces(this.#closed ? [] : this.all);
  }
}

async function read(stream: AsyncIterable<unknown>) {
  const found: unknown[] = [];
  for await (const one of stream) found.push(one);
  return found;
}

const sources: [name: string, make: () => AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>][] = [
  ['a generator', () => pieces(chunks)],
  ['a generator that is promised', async () => pieces(chunks)],
  ['a stream of a client', async () => new ClientStream(chunks)],
  ['a web stream', () => ReadableStream.from(pieces(chunks))],
  ['a stream of Node.js', () => Readable.from(pieces(chunks))],
];

test.each(sources)('%s has its tokens, its time to the first one and all that it gave', async (_name, make) => {
  const ask = log({ kind: 'llm', name: 'ask' }, make);
  const below = log({ kind: 'tool', name: 'below' }, () => 'x');
  const trace = await logged(async () => {
    const stream = await ask();
    expect(await read(stream)).toEqual(chunks);
    return below();
  });
  expect(trace.spans).toMatchObject([
    { name: 'ask', model: 'a-model-1', metrics: { num_input_tokens: 7, num_output_tokens: 2 } },
    { name: 'below' },
  ]);
  const [span] = trace.spans;
  expect(JSON.stringify(span?.output)).toContain('rains');
  const { time_to_first_token_ns: first = 0, duration_ns: all = 0 } = span?.metrics ?? {};
  expect(first).toBeGreaterThan(15_000_000);
  expect(all).toBeGreaterThanOrEqual(first);
});

test('the methods of a stream work as before, and each way to read one is seen', async () => {
  const ask = log({ kind: 'llm', name: 'ask' }, (source: 'client' | 'web' | 'node') => {
    if (source === 'client') return new ClientStream(['a', 'b']);
    return source === 'web' ? ReadableStream.from(['a', 'b']) : Readable.from(['a', 'b']);
  });
  const trace = await logged(async () => {
    const closed = ask('client') as ClientStream<string>;
    closed.close();
    expect(await read(closed)).toEqual([]);
    const [one, other] = (ask('web') as ReadableStream).tee();
    expect(await Promise.all([read(one), read(other)])).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    const cancelled = (ask('web') as ReadableStream).getReader();
    await cancelled.read();
    await cancelled.cancel();
    const events: string[] = [];
    const node = ask('node') as Readable;
    await new Promise((resolve) => node.on('data', (piece) => events.push(piece)).on('end', resolve));
    expect(events).toEqual(['a', 'b']);
    for await (const piece of ask('client') as ClientStream<string>) if (piece === 'a') break;
  });
  expect(trace.spans.map(({ output }) => (output as { content: string }).content)).toEqual(['', 'ab', 'a', 'ab', 'a']);
});

test('a stream that breaks has its error, and what came before it', async () => {
  const ask = log({ kind: 'llm', name: 'ask' }, () => pieces(['It ', 'rai'], new TypeError('cut off')));
  const trace = await logged(() => read(ask()));
  const failure = { error_message: 'TypeError: cut off', status_code: 500 };
  expect(trace).toMatchObject({ ...failure, spans: [{ ...failure, output: { content: 'It rai' } }] });
});

test('a trace whose result is a stream ends with it, and holds what that calls', async () => {
  const below = log({ kind: 'tool', name: 'below' }, (text: string) => text);
  const [trace] = await loggedTraces(service, projectId, async (logger) => {
    const stream = await logger.trace('go', () =>
      (async function* tell() {
        for await (const piece of pieces(['a', 'b'])) yield below(piece);
      })(),
    );
    await logger.flush();
    expect(await read(stream)).toEqual(['a', 'b']);
  });
  expect(trace).toMatchObject({ output: 'ab', spans: [{ name: 'below' }, { name: 'below' }] });
});
