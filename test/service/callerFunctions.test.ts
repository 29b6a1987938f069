import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runExperiment } from '../../client/index.ts';
import { outputText } from '../../client/outputText.ts';
import { meaning } from '../../client/recordRows.ts';
import { asText, thrownText } from '../../client/texts.ts';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';
import { experimentOf } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const CLIENT = join(import.meta.dirname, '../../client/index.ts');

describe('an output', () => {
  async function* parts<T>(...all: T[]) {
    yield* all;
  }
  function* words() {
    yield 'two ';
    yield 'words';
  }
  const bytes = new TextEncoder().encode('Zürich');
  test.each([
    ['nothing', undefined, null],
    ['null', null, null],
    ['a text', ' 1.50 ', ' 1.50 '],
    ['a number', 1.5, '1.5'],
    ['no number', Number.NaN, 'NaN'],
    ['infinity', -Infinity, '-Infinity'],
    ['a large integer', 12345678901234567890n, '12345678901234567890'],
    ['false', false, 'false'],
    ['a map', new Map<string, unknown>([['a', new Set([1, Number.NaN])]]), '{"a":[1,"NaN"]}'],
    ['a map of objects', new Map([[{ id: 1 }, 2]]), '[[{"id":1},2]]'],
    ['a generator', words(), 'two words'],
    ['a generator that takes its time', parts('a', 'b'), 'ab'],
    ['a generator of objects', parts({ n: 1 }, { n: 2n }), '[{"n":1},{"n":2}]'],
    ['a stream of Node.js', Readable.from(['x', 'y']), 'xy'],
    ['a stream of bytes, cut within a character', parts(bytes.slice(0, 2), bytes.slice(2)), 'Zürich'],
    ['a stream of the web', new Blob(['from ', 'the web']).stream(), 'from the web'],
    ['a date, as the cell of a dataset has it', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an address', new URL('http://example.com/a b'), 'http://example.com/a%20b'],
    ['a pattern', /x"y/g, '/x"y/g'],
    ['an error', new TypeError('no'), 'TypeError: no'],
    ['an object with a function beside its content', { text: 'x', again: () => 1 }, '{"text":"x"}'],
    ['an object of a class', Object.assign(new (class Answer {})(), { text: 'x' }), '{"text":"x"}'],
  ])('that is %s is recorded as text', async (_, given, text) => {
    expect(await outputText(given)).toBe(text);
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  test.each([
    ['a function', () => 1, /the output is a function/],
    ['a symbol', Symbol('s'), /the output is a symbol/],
    ['a response', new Response('x'), /the output is a Response, of which JSON keeps nothing/],
    ['an object that holds a promise', { later: Promise.resolve(1) }, /"later" in the output is a Promise/],
    ['circular', circular, /circular/],
    ['an object of functions', { next: () => 1, done: Symbol('d') }, /the output holds functions or symbols alone/],
    ['a list of functions', [() => 1], /the output holds functions or symbols alone/],
  ])('that is %s fails with that reason', async (_, given, reason) => {
    await expect(outputText(given)).rejects.toThrow(reason);
  });
});

test.each([
  ['a map', new Map<string, unknown>([['a', new Set([1, Number.NaN])]]), '{"a":[1,"NaN"]}'],
  ['no number', Number.NaN, 'NaN'],
  ['an error', { why: new TypeError('no') }, '{"why":"TypeError: no"}'],
  ['a pattern', /x"y/g, '/x"y/g'],
  ['a response', new Response('x'), '[object Response]'],
  ['the words of a query', new URLSearchParams({ q: 'a b' }), 'q=a+b'],
  ['an object that holds a promise', { later: Promise.resolve(1) }, '{"later":"[object Promise]"}'],
  ['a function', { again: () => 1, text: 'x' }, '{"text":"x"}'],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['an object without members', {}, '{}'],
])('a span that gets or gives %s has what it holds', (_, given, text) => {
  expect(asText(given)).toBe(text);
});

test('an error is said with its causes, and with the errors that it holds', () => {
  const cause = new Error('socket hang up', { cause: 'ECONNRESET' });
  const failed = new Error('fetch failed', { cause });
  expect(thrownText(failed)).toBe('Error: fetch failed\ncaused by Error: socket hang up\ncaused by ECONNRESET');
  expect(thrownText(new AggregateError([new Error('a'), 'b'], 'all failed'))).toBe('AggregateError: all failed\n- Error: a\n- b');
  const own = new Error('own');
  own.cause = own;
  expect(thrownText(own)).toBe('Error: own');
  let deep = new Error('deepest');
  for (let n = 0; n < 1_000; n++) deep = new Error(`at ${n}`, { cause: deep });
  expect(thrownText(deep).split('\n').length).toBeLessThan(10);
});

test('what the service changes as it stores it stands for the same', () => {
  expect(meaning('cut \ud83d')).toBe(meaning('cut \ufffd'));
  expect(meaning({ id: 1234567890123456800, b: '\ud83d' })).toBe(meaning({ b: '\ufffd', id: '1234567890123456800' }));
  expect(meaning(12345678901234567890n)).toBe(meaning('12345678901234567890'));
  expect(meaning('1.50')).toBe(meaning('1.5'));
  expect(meaning('a')).not.toBe(meaning('b'));
  expect(jsonWithBigInts({ a: 9n, b: 12345678901234567890n })).toBe('{"a":9,"b":12345678901234567890}');
});

test('records with large integers and cut characters are run, and gone on with', async () => {
  const { id: projectId } = await service.project();
  const odd = { id: 1234567890123456789n, near: 2 ** 60, nested: { id: 2 ** 63, text: '\ud83d' }, cut: 'a \ud83d' };
  const dataset = [
    { input: 'q', ...odd },
    { input: '\ud83d', metadata: { n: 12345678901234567890n } },
  ];
  const run = { client: service.client, projectId, experimentName: 'odd records', dataset, metrics: [] };
  const { progress } = await runExperiment<string, string>({ ...run, function: (input) => input });
  expect(progress).toMatchObject({ state: 'completed', rows_done: 2, rows_failed: 0 });
  const stop = new AbortController();
  const stopped = runExperiment<string, string>({
    ...{ ...run, experimentName: 'stopped', signal: stop.signal },
    function: () => {
      stop.abort(new Error('stopped'));
      return 'x';
    },
  });
  await expect(stopped).rejects.toThrow('stopped');
  const again = await runExperiment<string, string>({ ...run, experimentName: 'stopped', function: () => 'again' });
  expect([again.resumed, again.progress.state]).toEqual([true, 'completed']);
});

test('a start that cannot be sent leaves no experiment behind', async () => {
  const { id: projectId } = await service.project();
  const circular: Record<string, unknown> = { input: 'q' };
  circular.self = circular;
  const run = { client: service.client, projectId, experimentName: 'circular', dataset: [circular], metrics: [] };
  await expect(runExperiment({ ...run, function: () => 'x' })).rejects.toThrow(/circular/i);
  expect(await service.client.send(`/projects/${projectId}/experiments`)).toEqual([]);
});

test.each([
  ['synchronous', false],
  ['asynchronous', true],
])('the times of %s functions that hold the event loop do not hold each other', async (_, isAsync) => {
  const { id: projectId } = await service.project();
  const hold = () => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    return 'done';
  };
  const dataset = Array.from({ length: 20 }, (__, n) => ({ input: `q${n}` }));
  const run = { client: service.client, projectId, experimentName: 'held', dataset, metrics: [], concurrency: 10 };
  const begun = performance.now();
  const { experiment } = await runExperiment({ ...run, function: isAsync ? async () => hold() : hold });
  const elapsed = performance.now() - begun;
  const traces = (await experimentOf(service.client, projectId, experiment.id).traces()) as unknown as {
    metrics: { duration_ns: number };
  }[];
  const sum = traces.reduce((total, { metrics }) => total + metrics.duration_ns / 1e6, 0);
  // None of them runs while another does.
  expect(sum).toBeLessThanOrEqual(elapsed);
  expect(sum).toBeGreaterThanOrEqual(20 * 19);
});

test('a promise that rejects and is awaited by nothing costs its row at most', async () => {
  const { id: projectId } = await service.project();
  const script = `
    import { setTimeout } from 'node:timers/promises';
    import { runExperiment } from ${JSON.stringify(CLIENT)};
    const { experiment, progress } = await runExperiment({
      projectId: ${JSON.stringify(projectId)},
      experimentName: 'stray',
      dataset: ['fine', 'stray', 'late', 'fine too'].map((input) => ({ input })),
      metrics: [],
      function: async (input) => {
        if (input === 'stray') {
          Promise.reject(new Error('nobody waits'));
          await setTimeout(10_000);
        }
        if (input === 'late') setTimeout(1).then(() => Promise.reject(new Error('late')));
        await setTimeout(5);
        return input;
      },
    });
    await setTimeout(20);
    console.log(JSON.stringify([progress.rows_done, progress.rows_failed, experiment.id]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey },
  });
  const [done, failed, id] = JSON.parse(stdout.trim().split('\n').at(-1) as string) as [number, number, string];
  expect([done, failed >= 1 && failed <= 2]).toEqual([4, true]);
  const traces = (await experimentOf(service.client, projectId, id).traces()) as unknown as Record<string, unknown>[];
  const stray = traces.find(({ input }) => input === 'stray');
  expect(stray).toMatchObject({ error_message: 'a promise that nothing awaits was rejected: Error: nobody waits' });
  expect(traces.filter(({ error_message }) => error_message === '').length).toBeGreaterThanOrEqual(2);
});

test('a rejection that belongs to no row ends the process, as without an experiment', async () => {
  const { id: projectId } = await service.project();
  const script = `
    import { runExperiment } from ${JSON.stringify(CLIENT)};
    const run = runExperiment({
      projectId: ${JSON.stringify(projectId)}, experimentName: 'elsewhere', dataset: [{ input: 'a' }], metrics: [],
      onExperiment: () => setTimeout(() => Promise.reject(new Error('elsewhere')), 0),
      function: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
    });
    await run;`;
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey },
  });
  await expect(running).rejects.toMatchObject({ stderr: expect.stringContaining('elsewhere') });
});
