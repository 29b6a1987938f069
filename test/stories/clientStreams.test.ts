import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Logger, log } from '../../client/index.ts';
import { startTestService, type TestService } from '../support/service.ts';

vi.setConfig({ testTimeout: 60_000 });

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await startTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

interface Span {
  name: string;
  output: unknown;
  model: string;
  status_code: number;
  error_message: string;
  metrics: Record<string, number>;
  spans: Span[];
}

/** Runs `work` as a trace, and gives what is stored of it. */
async function logged(work: () => unknown): Promise<Span> {
  const logStream = crypto.randomUUID();
  const logger = new Logger({ client: service.client, projectId, logStream, flushEveryMs: 0 });
  await logger.trace('go', work).catch(() => undefined);
  await logger.flush();
  const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
  const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
    log_stream_id: streams.find(({ name }) => name === logStream)?.id,
  });
  const [trace] = (body as { records: { id: string }[] }).records;
  return (await service.request('GET', `/v2/projects/${projectId}/traces/${trace?.id}`)).body;
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
  const logStream = 'streamed trace';
  const logger = new Logger({ client: service.client, projectId, logStream, flushEveryMs: 0 });
  const stream = await logger.trace('go', () =>
    (async function* tell() {
      for await (const piece of pieces(['a', 'b'])) yield below(piece);
    })(),
  );
  await logger.flush();
  expect(await read(stream)).toEqual(['a', 'b']);
  await logger.flush();
  const { body } = await service.request('GET', `/projects/${projectId}/log_streams`);
  const found = (body as { id: string; name: string }[]).find(({ name }) => name === logStream);
  const searched = await service.request('POST', `/v2/projects/${projectId}/traces/search`, { log_stream_id: found?.id });
  const [trace] = (searched.body as { records: { id: string; output: string }[] }).records;
  expect(trace?.output).toBe('ab');
  expect((await service.request('GET', `/v2/projects/${projectId}/traces/${trace?.id}`)).body).toMatchObject({
    spans: [{ name: 'below' }, { name: 'below' }],
  });
});
