import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Logger, log } from '../../client/index.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const loggerOf = (logStream: string) => new Logger({ client: service.client, projectId, logStream, flushEveryMs: 0 });

async function search(kind: 'sessions' | 'traces' | 'spans', logStream: string) {
  const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
  const { body } = await service.request('POST', `/v2/projects/${projectId}/${kind}/search`, {
    log_stream_id: streams.find(({ name }) => name === logStream)?.id,
    pagination: { limit: 100, starting_token: 0 },
  });
  return (body as { records: { id: string; input: string; session_id: string; external_id: string; name: string }[] }).records;
}

/** The inputs of the traces of each session, by its external id. */
async function tracesBySession(logStream: string) {
  const sessions = new Map((await search('sessions', logStream)).map(({ id, external_id }) => [id, external_id]));
  const found: Record<string, string[]> = {};
  for (const { input, session_id } of await search('traces', logStream)) {
    const session = sessions.get(session_id) ?? 'none';
    found[session] = [...(found[session] ?? []), input].toSorted();
  }
  return found;
}

test('requests that are answered at the same time each log into their own session', async () => {
  const logger = loggerOf('three at once');
  let starting = 3;
  const allStarted = Promise.withResolvers<void>();
  const answer = async (user: string) => {
    await logger.startSession({ externalId: user });
    if (--starting === 0) allStarted.resolve();
    await allStarted.promise;
    await logger.trace(`hello from ${user}`, async () => {
      await sleep(5);
      return 'hello';
    });
    await logger.trace(`${user} says bye`, () => 'bye');
  };
  await Promise.all(['ana', 'ben', 'cleo'].map(answer));
  await logger.flush();
  expect(await tracesBySession('three at once')).toEqual({
    ana: ['ana says bye', 'hello from ana'],
    ben: ['ben says bye', 'hello from ben'],
    cleo: ['cleo says bye', 'hello from cleo'],
  });
});

test('a session given a function holds for what that begins, and is told apart from the one around it', async () => {
  const logger = loggerOf('scoped');
  const outer = logger.startSession({ externalId: 'outer', name: 'The outer one', metadata: { tier: 'free' } });
  const result = await logger.startSession({ externalId: 'inner' }, async (session) => {
    await sleep(1);
    await logger.trace('inside', () => 'x');
    return session;
  });
  await logger.trace('after', () => 'x');
  outer.run(() => logger.startTrace('by hand').conclude('x'));
  logger.clearSession();
  await logger.trace('cleared', () => 'x');
  await logger.trace('named', () => 'x', { session: result });
  const anonymous = logger.startSession(() => logger.startTrace('of a random one'));
  anonymous.conclude('x');
  await logger.flush();
  const found = await tracesBySession('scoped');
  const random = Object.keys(found).filter((id) => !['outer', 'inner', 'none'].includes(id));
  expect(found).toEqual({
    outer: ['after', 'by hand'],
    inner: ['inside', 'named'],
    none: ['cleared'],
    [random[0] as string]: ['of a random one'],
  });
  const sessions = await search('sessions', 'scoped');
  expect(sessions.find(({ external_id }) => external_id === 'outer')).toMatchObject({
    id: await outer.id(),
    name: 'The outer one',
    user_metadata: { tier: 'free' },
  });
});

test('a session that the service refuses costs its traces nothing, and they stay together', async () => {
  const errors: unknown[] = [];
  const logger = new Logger({
    ...{ client: service.client, projectId, logStream: 'refused session', flushEveryMs: 0 },
    onError: (error) => errors.push(error),
  });
  logger.startSession({ metadata: { large: 'x'.repeat(17 * 1024 * 1024) } });
  for (const input of ['one', 'two']) logger.startTrace(input).conclude('x');
  await logger.flush();
  const traces = await search('traces', 'refused session');
  expect(traces.map(({ input }) => input).toSorted()).toEqual(['one', 'two']);
  expect(new Set(traces.map(({ session_id }) => session_id)).size).toBe(1);
  expect(errors).toMatchObject([{ name: 'HttpStatusError', status: 413 }]);
});

interface Tree {
  name: string;
  input: string;
  output: unknown;
  status_code: number;
  error_message: string;
  user_metadata: Record<string, string>;
  metrics: { duration_ns: number };
  spans: Tree[];
}

/** The only trace of a log stream, with its spans. */
async function treeOf(logStream: string): Promise<Tree> {
  const [{ id } = { id: '' }, ...others] = await search('traces', logStream);
  expect(others).toEqual([]);
  return (await service.request('GET', `/v2/projects/${projectId}/traces/${id}`)).body;
}

test('a span may outlive its trace and the span above it', async () => {
  const logger = loggerOf('late');
  const gate = Promise.withResolvers<void>();
  const fetchIt = log({ kind: 'tool', name: 'fetch' }, async (what: string) => {
    await gate.promise;
    return `${what} came`;
  });
  const background = log({ kind: 'workflow', name: 'background' }, async () => {
    void fetchIt('the first');
    return 'going on';
  });
  let last: Promise<unknown> = Promise.resolve();
  await logger.trace('go', async (trace) => {
    await background();
    const open = trace.startSpan('agent', 'by hand', { name: 'agent' });
    last = gate.promise.then(async () => {
      await open.run(() => fetchIt('the second'));
      open.addLlmSpan({ input: 'q', output: 'a', name: 'llm' });
      open.conclude('done', { tags: ['late'] });
      trace.addToolSpan({ input: 'after the end', name: 'after' });
    });
    return 'answered';
  });
  await logger.flush();
  const before = await treeOf('late');
  expect(before).toMatchObject({
    output: 'answered',
    spans: [
      { name: 'background', output: 'going on', spans: [{ name: 'fetch', output: null }] },
      { name: 'agent', spans: [] },
    ],
  });
  gate.resolve();
  await last;
  await logger.flush();
  const after = await treeOf('late');
  expect(after).toMatchObject({
    input: 'go',
    output: 'answered',
    spans: [
      { name: 'background', output: 'going on', spans: [{ name: 'fetch', output: 'the first came' }] },
      { name: 'agent', output: 'done', tags: ['late'], spans: [{ name: 'fetch', output: 'the second came' }, { name: 'llm' }] },
      { name: 'after', input: 'after the end' },
    ],
  });
  expect(after.metrics.duration_ns).toBe(before.metrics.duration_ns);
});

test('a call that is logged outside a trace is one, and goes on after it', async () => {
  const logger = loggerOf('alone');
  const gate = Promise.withResolvers<void>();
  let late: Promise<string> = Promise.resolve('');
  const inner = log({ kind: 'retriever', name: 'inner' }, async (text: string) => {
    await gate.promise;
    return text;
  });
  const outer = log({ kind: 'workflow', name: 'outer', tags: ['t'] }, (text: string) => {
    late = inner(text);
    return text.length;
  });
  logger.startSession({ externalId: 's' }, () => outer('four'));
  gate.resolve();
  await late;
  await logger.flush();
  expect(await treeOf('alone')).toMatchObject({
    name: 'outer',
    input: 'four',
    output: '4',
    spans: [{ name: 'outer', tags: ['t'], spans: [{ name: 'inner', output: [{ content: 'four' }] }] }],
  });
  expect(await tracesBySession('alone')).toEqual({ s: ['four'] });
});

test('what is thrown is the message and the status of its records; what describes a call may throw, too', async () => {
  const logger = loggerOf('errors');
  const broken = (_: string) => {
    throw new Error('of the description');
  };
  const call = log({ kind: 'tool', name: 'limited' }, () => {
    throw Object.assign(new Error('slow down'), { status: 429 });
  });
  const described = log(
    { kind: 'tool', name: 'described', input: broken, output: broken, describe: broken },
    (text: string) => text,
  );
  await expect(
    logger.trace('go', () => {
      expect(described('as it is')).toBe('as it is');
      return call();
    }),
  ).rejects.toThrow('slow down');
  await logger.flush();
  const failure = { error_message: 'Error: slow down', status_code: 429 };
  expect(await treeOf('errors')).toMatchObject({
    ...failure,
    spans: [
      {
        ...{ name: 'described', input: 'as it is', output: 'as it is', status_code: 200 },
        user_metadata: { log_error: 'Error: of the description' },
      },
      { name: 'limited', ...failure },
    ],
  });
});

test.each<[unknown, string]>([
  [{ code: 42, reason: 'none' }, '{"code":42,"reason":"none"}'],
  [{ message: 'no quota', code: 7 }, 'no quota'],
  ['a text', 'a text'],
  [undefined, 'undefined'],
  [['a', 1], '["a",1]'],
  [{ toString: () => 'its own text' }, 'its own text'],
  [
    {
      toString() {
        throw new Error('no text');
      },
    },
    'something was thrown that is no text',
  ],
])('what is thrown may be anything: %o is said as %j, and thrown on as it is', async (thrown, text) => {
  const logStream = `thrown ${text}`;
  const logger = loggerOf(logStream);
  const call = log({ kind: 'tool', name: 'throws' }, () => {
    throw thrown;
  });
  await expect(logger.trace('go', () => call())).rejects.toBe(thrown);
  await logger.flush();
  expect(await treeOf(logStream)).toMatchObject({ error_message: text, spans: [{ error_message: text, status_code: 500 }] });
});

test('two copies of the client share contexts, sessions and the logger made last', async () => {
  vi.resetModules();
  const copy: typeof import('../../client/index.ts') = await import('../../client/index.ts');
  expect(copy.Logger).not.toBe(Logger);
  const logger = loggerOf('two copies');
  const tool = copy.log({ kind: 'tool', name: 'of the copy' }, (text: string) => text);
  await logger.startSession({ externalId: 'shared' }, () => logger.trace('go', () => tool('x')));
  logger.startSession({ externalId: 'alone' }, () => tool('a trace by itself'));
  await logger.flush();
  expect(await tracesBySession('two copies')).toEqual({ alone: ['a trace by itself'], shared: ['go'] });
});

test('without AsyncLocalStorage, as in browsers, calls nest until the first await and are never mixed', async () => {
  vi.resetModules();
  vi.doMock('../../client/asyncStorage.ts', async () => {
    vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
    return import('../../client/asyncStorage.portable.ts');
  });
  const key = Symbol.for('assay.client');
  const holder = globalThis as { [key: symbol]: unknown };
  const before = holder[key];
  delete holder[key];
  onTestFinished(() => {
    vi.doUnmock('../../client/asyncStorage.ts');
    holder[key] = before;
  });
  const browser: typeof import('../../client/index.ts') = await import('../../client/index.ts');
  vi.unstubAllGlobals();
  const logger = new browser.Logger({ client: service.client, projectId, logStream: 'browser', flushEveryMs: 0 });
  const inner = browser.log({ kind: 'tool', name: 'inner' }, (text: string) => text);
  const outer = browser.log({ kind: 'agent', name: 'outer' }, async (text: string) => {
    inner(`${text} nested`);
    await sleep(1);
    return inner(`${text} alone`);
  });
  await Promise.all(
    ['a', 'b'].map((name) =>
      logger.trace(name, async (trace) => {
        await outer(name);
        return trace.run(() => inner(`${name} by hand`));
      }),
    ),
  );
  await logger.flush();
  const traces = await search('traces', 'browser');
  const shapes = await Promise.all(
    traces.map(async ({ id }) => {
      const { input, spans } = (await service.request('GET', `/v2/projects/${projectId}/traces/${id}`)).body as Tree;
      return [input, spans.map((span) => [span.input, ...(span.spans ?? []).map((below) => below.input)])];
    }),
  );
  expect(Object.fromEntries(shapes)).toEqual({
    a: [['a', 'a nested'], ['a by hand']],
    b: [['b', 'b nested'], ['b by hand']],
    'a alone': [['a alone']],
    'b alone': [['b alone']],
  });
});
