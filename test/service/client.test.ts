import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  createDataset,
  createExperiment,
  createPrompt,
  getDataset,
  getExperiment,
  getExperiments,
  getPrompt,
  Logger,
  listExperimentGroups,
  log,
  type PromptChoice,
  type PromptResponse,
  runExperiment,
  ServiceClient,
} from '../../client/index.ts';
import { filesBelow } from '../support/filesBelow.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;

beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const here = () => ({ client: service.client, projectId });
const questions = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` }));

interface Trace {
  id: string;
  name: string;
  input: string;
  output: string | null;
  status_code: number;
  metrics: Record<string, unknown>;
  spans: Trace[];
}

async function tracesOf(experimentId: string): Promise<Trace[]> {
  const found: Trace[] = [];
  for (let token: number | null = 0; token !== null; ) {
    const { status, body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
      experiment_id: experimentId,
      pagination: { limit: 100, starting_token: token },
    });
    expect(status).toBe(200);
    const page = body as { records: Trace[]; next_starting_token: number | null };
    found.push(...page.records);
    token = page.next_starting_token;
  }
  return found;
}

describe('experiments without a run', () => {
  test('are created in groups, found by name and listed by group', async () => {
    const nightly = await createExperiment({ ...here(), experimentName: 'plain', experimentGroup: 'Nightly' });
    expect(nightly).toMatchObject({ name: 'plain', project_id: projectId, experiment_group_name: 'Nightly' });
    await createExperiment({ ...here(), experimentName: 'loose' });
    expect(await getExperiment({ ...here(), experimentName: 'plain' })).toMatchObject({ id: nightly.id });
    expect(await getExperiment({ ...here(), experimentName: 'plai' })).toBeUndefined();
    expect((await getExperiments(here())).map(({ name }) => name)).toEqual(expect.arrayContaining(['plain', 'loose']));
    expect((await getExperiments({ ...here(), experimentGroup: 'Nightly' })).map(({ name }) => name)).toEqual(['plain']);
    expect((await getExperiments({ ...here(), experimentGroupId: nightly.experiment_group_id })).map(({ name }) => name)).toEqual(
      ['plain'],
    );
    const groups = await listExperimentGroups(here());
    expect(groups.map(({ name, is_system }) => [name, is_system])).toEqual(
      expect.arrayContaining([
        ['Nightly', false],
        ['Ungrouped', true],
      ]),
    );
  });

  test('a group id of nowhere is NotFoundError 3520, for a run too, and nothing is created', async () => {
    const wrong = { ...here(), experimentName: 'astray', experimentGroupId: crypto.randomUUID() };
    await expect(createExperiment(wrong)).rejects.toMatchObject({ name: 'NotFoundError', status: 404, errorCode: 3520 });
    await expect(runExperiment({ ...wrong, dataset: questions(1), function: String })).rejects.toMatchObject({
      name: 'NotFoundError',
      errorCode: 3520,
    });
    expect(await getExperiment({ ...here(), experimentName: 'astray' })).toBeUndefined();
  });

  test('a project that is not there, or named twice, is a ValueError', async () => {
    const { client } = service;
    const named = (project: object) => getExperiment({ client, experimentName: 'x', ...project });
    await expect(named({})).rejects.toMatchObject({ name: 'ValueError', message: expect.stringContaining('SERVICE_PROJECT') });
    await expect(named({ projectName: 'nowhere' })).rejects.toMatchObject({ name: 'ValueError' });
    await expect(named({ projectId: 'no-uuid' })).rejects.toMatchObject({ name: 'ValueError' });
    await expect(named({ projectId, projectName: 'x' })).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining('not both'),
    });
    await expect(createExperiment({ ...here(), experimentName: '' })).rejects.toMatchObject({ name: 'ValueError' });
  });

  test('the environment names the project, and a parameter wins over it', async () => {
    const other = await service.project();
    vi.stubEnv('SERVICE_PROJECT', other.name);
    try {
      await createExperiment({ client: service.client, experimentName: 'by environment' });
      expect((await getExperiments({ client: service.client, projectId: other.id })).map(({ name }) => name)).toEqual([
        'by environment',
      ]);
      expect((await getExperiments(here())).map(({ name }) => name)).not.toContain('by environment');
      vi.stubEnv('SERVICE_PROJECT_ID', projectId);
      await expect(getExperiments({ client: service.client })).rejects.toMatchObject({ name: 'ValueError' });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('progress of experiments without a run', () => {
  test('is their records against the rows of their dataset, one by one and in the list', async () => {
    const dataset = await createDataset({ ...here(), name: 'four questions', content: questions(4) });
    const made = async (name: string) => {
      const { body } = await service.request('POST', `/projects/${projectId}/experiments`, {
        name,
        dataset: { dataset_id: dataset.id, version_index: 1 },
      });
      return body as { id: string };
    };
    const [{ id }, empty] = [await made('fed by hand'), await made('never fed')];
    const loose = await createExperiment({ ...here(), experimentName: 'fed without a dataset' });
    const feed = async (experimentId: string, count: number) => {
      const { status } = await service.request('POST', `/v2/projects/${projectId}/traces`, {
        experiment_id: experimentId,
        traces: questions(count).map(({ input, output }) => ({ type: 'trace', name: 'row', input, output, spans: [] })),
      });
      expect(status).toBe(200);
    };
    const listed = async () => {
      const { body } = await service.request('GET', `/v2/projects/${projectId}/experiments`);
      const all = body as { id: string; status: { log_generation: { progress_percent: number } } }[];
      return [id, empty.id, loose.id].map((one) => all.find((found) => found.id === one)?.status.log_generation.progress_percent);
    };
    await feed(id, 1);
    await feed(loose.id, 1);
    expect(await listed()).toEqual([0.25, 0, 1]);
    await feed(id, 3);
    expect(await listed()).toEqual([1, 0, 1]);
  });
});

describe('a function over rows', () => {
  test('runs every row once, with its spans, local metrics and failures', async () => {
    const lookUp = log({ kind: 'retriever' }, async (question: string) => [`about ${question}`]);
    const ask = log(
      { kind: 'llm', describe: () => ({ model: 'mine', inputTokens: 3, outputTokens: 4 }) },
      async (question: string) => {
        await sleep(Math.random() * 20);
        return `answer ${question.split(' ')[1]}`;
      },
    );
    const seen: string[] = [];
    const { experiment, progress, message, link, resumed } = await runExperiment({
      ...here(),
      experimentName: 'function',
      dataset: questions(60),
      function: async (input: string, row) => {
        seen.push(input);
        expect(row.values).toMatchObject({ input, output: row.expected });
        const documents = await lookUp(input);
        if (input === 'question 7') throw new TypeError('seven is not liked');
        expect(documents).toEqual([`about ${input}`]);
        return ask(input);
      },
      metrics: [
        { name: 'same', direction: 'higher', range: { min: 0, max: 1 }, score: ({ expected }, output) => expected === output },
        {
          name: 'brittle',
          score: () => {
            throw new Error('no score');
          },
        },
      ],
      experimentTags: { branch: 'main' },
      concurrency: 16,
    });
    expect(seen.toSorted()).toEqual(
      questions(60)
        .map(({ input }) => input)
        .toSorted(),
    );
    expect(progress).toMatchObject({
      state: 'completed',
      rows_total: 60,
      rows_done: 60,
      rows_failed: 1,
      runner: 'caller_function',
    });
    expect(resumed).toBe(false);
    expect(message).toContain('60 of 60 rows, 1 of them failed');
    expect(link).toBe(`${service.url}/console/p/${experiment.project_id}/experiments/${experiment.id}`);
    expect(experiment).toMatchObject({
      name: 'function',
      experiment_group_name: 'Ungrouped',
      logged_metrics: [
        { name: 'same', direction: 'higher', range: { min: 0, max: 1 } },
        { name: 'brittle', direction: null, range: null },
      ],
      tags: { branch: [{ key: 'branch', value: 'main' }] },
    });
    expect(experiment.status.log_generation.progress_percent).toBe(1);
    const traces = await tracesOf(experiment.id);
    expect(traces).toHaveLength(60);
    for (const trace of traces) {
      const failed = trace.input === 'question 7';
      expect(trace.status_code).toBe(failed ? 500 : 200);
      expect(trace.output).toBe(failed ? null : trace.input.replace('question', 'answer'));
      if (!failed) expect(trace.metrics).toMatchObject({ same: true });
      expect(trace.metrics).not.toHaveProperty('brittle');
    }
    const [trace] = traces;
    const { body } = await service.request('GET', `/v2/projects/${projectId}/traces/${trace?.id}?experiment_id=${experiment.id}`);
    const { spans, input } = body as Trace;
    expect(spans.map((span) => (span as unknown as { type: string }).type)).toEqual(
      input === 'question 7' ? ['retriever'] : ['retriever', 'llm'],
    );
    expect(spans[0]?.input).toBe(input);
  });

  test('without a prompt or function scores the answers that its rows have', async () => {
    const content = [
      { input: 'six times seven', output: '42', generated_output: '42' },
      { input: 'two and two', output: '4', generated_output: '5' },
    ];
    const stored = await createDataset({ ...here(), name: 'answered', content });
    for (const dataset of [content, 'answered', { id: stored.id }]) {
      const { experiment, progress } = await runExperiment({
        ...here(),
        experimentName: 'answers of another system',
        dataset,
        metrics: ['exact_match'],
      });
      expect(progress).toMatchObject({ runner: 'dataset_outputs', rows_done: 2, rows_failed: 0 });
      expect(experiment.aggregates.exact_match).toMatchObject({ figure: 0.5, counts: { values: 2 } });
    }
    await createDataset({ ...here(), name: 'unanswered', content: [{ input: 'q', output: 'a' }] });
    const before = (await getExperiments(here())).length;
    for (const dataset of ['unanswered', [{ input: 'q', output: 'a' }]])
      await expect(runExperiment({ ...here(), experimentName: 'no answers', dataset })).rejects.toMatchObject({
        name: 'ValueError',
        message: expect.stringContaining('generated_output'),
      });
    expect(await getExperiments(here())).toHaveLength(before);
  });

  test('over a dataset goes to the group of that dataset; the name taken, the next run gets the time', async () => {
    const dataset = await createDataset({
      ...here(),
      name: 'capitals',
      content: [{ input: { country: 'Peru' }, output: 'Lima' }],
    });
    expect(await getDataset({ client: service.client, name: 'capitals' })).toMatchObject({ id: dataset.id, num_rows: 1 });
    const run = () =>
      runExperiment({
        ...here(),
        experimentName: 'geography',
        dataset: 'capitals',
        function: ({ country }: { country: string }) => (country === 'Peru' ? 'Lima' : ''),
        metrics: ['exact_match'],
      });
    const first = await run();
    expect(first.experiment).toMatchObject({
      name: 'geography',
      experiment_group_name: 'capitals Experiment Group',
      dataset: { dataset_id: dataset.id },
    });
    expect(Object.values(first.experiment.structured_aggregate_metrics ?? {}).map((metric) => metric.avg)).toContain(1);
    const second = await run();
    expect(second.experiment.name).toMatch(/^geography \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d\.\d{3}$/);
    expect(second.resumed).toBe(false);
  });

  test('a row over its time limit is recorded as failed, its call aborted, and the run goes on', async () => {
    let aborted = 0;
    const { progress, experiment } = await runExperiment({
      ...here(),
      experimentName: 'slow row',
      dataset: questions(4),
      rowTimeLimitMs: 300,
      function: async (input: string, { signal }) => {
        if (input !== 'question 2') return input;
        signal.addEventListener('abort', () => aborted++);
        await sleep(5_000, undefined, { signal });
      },
    });
    expect(progress).toMatchObject({ state: 'completed', rows_done: 4, rows_failed: 1 });
    expect(aborted).toBe(1);
    const failed = (await tracesOf(experiment.id)).find(({ status_code }) => status_code === 500);
    expect(failed?.input).toBe('question 2');
  });

  test('a stopped script that is run again goes on where it stopped', async () => {
    const ran: string[] = [];
    const stop = new AbortController();
    const run = (signal?: AbortSignal) =>
      runExperiment({
        ...here(),
        experimentName: 'interrupted',
        dataset: questions(40),
        concurrency: 4,
        signal,
        function: async (input: string) => {
          ran.push(input);
          if (ran.length === 20 && signal) stop.abort(new Error('stopped'));
          await sleep(20);
          return input;
        },
      });
    await expect(run(stop.signal)).rejects.toThrow('stopped');
    const unfinished = await getExperiment({ ...here(), experimentName: 'interrupted' });
    const { experiment, progress, resumed } = await run();
    expect(resumed).toBe(true);
    expect(experiment.id).toBe(unfinished?.id);
    expect(progress).toMatchObject({ state: 'completed', rows_done: 40, rows_failed: 0 });
    expect(new Set(ran).size).toBe(40);
    // The results of rows that had ended were handed in: only rows under way when it stopped run again.
    expect(ran.length).toBeLessThanOrEqual(40 + 4);
  });

  test('a run that is paused and resumed goes on at once, with the rows that waited in this process', async () => {
    const ran: string[] = [];
    const warned: string[] = [];
    const isPaused = Promise.withResolvers<void>();
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      logger: { warn: (line: string) => void warned.push(line) },
    });
    let id = '';
    const steer = async (how: string) =>
      expect((await service.request('POST', `/projects/${projectId}/experiments/${id}/${how}`)).status).toBe(200);
    const run = runExperiment({
      client,
      projectId,
      experimentName: 'a break',
      dataset: questions(16),
      concurrency: 2,
      // Rows that stay leased to a process that has given them up would wait as long.
      rowTimeLimitMs: 120_000,
      onProgress: (progress) => {
        id = progress.experiment_id;
      },
      function: async (input: string) => {
        ran.push(input);
        if (ran.length > 2) await isPaused.promise;
        return input;
      },
    });
    await vi.waitFor(() => expect(ran.length > 2 && id).toBeTruthy(), { timeout: 240_000 });
    await steer('pause');
    await vi.waitFor(() => expect(warned.join()).toContain('paused'), { timeout: 240_000 });
    isPaused.resolve();
    expect(ran.length).toBeLessThan(16);
    await steer('resume');
    const { progress } = await run;
    expect(progress).toMatchObject({ state: 'completed', rows_done: 16, rows_failed: 0 });
    expect(ran).toHaveLength(16);
    expect(new Set(ran).size).toBe(16);
  });

  test('a second process takes over; the first stops and says why', async () => {
    const run = (dataset: Record<string, unknown>[], ms: number) =>
      runExperiment({
        ...here(),
        experimentName: 'contested',
        dataset,
        concurrency: 2,
        function: async () => {
          await sleep(ms);
          return 'done';
        },
      });
    const first = run(questions(30), 2_000);
    const refused = expect(first).rejects.toMatchObject({ name: 'TakenOverError' });
    await expect.poll(() => getExperiment({ ...here(), experimentName: 'contested' })).toBeDefined();
    const contested = await getExperiment({ ...here(), experimentName: 'contested' });
    await vi.waitFor(
      async () => {
        const { body } = await service.request('GET', `/projects/${projectId}/experiments/${contested?.id}/progress`);
        expect((body as { rows_done: number }).rows_done).toBeGreaterThan(0);
      },
      { timeout: 240_000 },
    );
    const second = await run(questions(30), 1);
    expect(second).toMatchObject({
      resumed: true,
      progress: { rows_done: 30, state: 'completed' },
      experiment: { id: contested?.id },
    });
    await refused;
  });

  test('an unfinished experiment over other records is left alone', async () => {
    const stop = new AbortController();
    const run = (dataset: Record<string, unknown>[], signal?: AbortSignal) =>
      runExperiment({
        client: new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey, logger: { warn: () => undefined } }),
        projectId,
        experimentName: 'edited script',
        dataset,
        signal,
        function: async (input: string) => {
          if (signal) {
            stop.abort(new Error('stopped'));
            await new Promise(() => undefined);
          }
          return input;
        },
      });
    await expect(run(questions(3), stop.signal)).rejects.toThrow('stopped');
    const { resumed, experiment, progress } = await run([{ input: 'x' }, { input: 'y' }, { input: 'z' }]);
    expect(resumed).toBe(false);
    expect(experiment.name).toMatch(/^edited script \d{4}/);
    expect(progress.rows_done).toBe(3);
    expect((await tracesOf(experiment.id)).map(({ input }) => input).toSorted()).toEqual(['x', 'y', 'z']);
  });

  test('wrong parameters are ValueErrors and leave no experiment', async () => {
    const base = { ...here(), experimentName: 'wrong' };
    const rejected = async (options: object, words: string) =>
      expect(runExperiment({ ...base, ...options } as never)).rejects.toMatchObject({
        name: 'ValueError',
        message: expect.stringContaining(words),
      });
    await rejected({ function: String }, 'name the rows');
    await rejected({ function: String, dataset: [] }, 'empty');
    await rejected({ function: String, dataset: 'no such dataset' }, 'no dataset called');
    await rejected({ function: String, dataset: questions(1), datasetName: 'x' }, 'only one of');
    await rejected({ dataset: questions(1) }, 'what runs the rows');
    await rejected({ dataset: questions(1), function: String, promptTemplate: '{{input}}' }, 'only one thing');
    await rejected({ dataset: questions(1), function: String, metrics: ['no_such_metric'] }, 'no_such_metric');
    await rejected({ dataset: questions(1), function: String, promptSettings: {} }, 'promptSettings');
    await rejected({ dataset: questions(1), promptTemplate: 'no such template' }, 'no prompt template');
    await rejected(
      { dataset: questions(1), promptTemplate: '{{input}}', metrics: [{ name: 'x', score: () => 1 }] },
      'computed in this process',
    );
    await rejected({ experimentName: undefined, dataset: questions(1), function: String }, 'experimentName');
    const fine = { dataset: questions(1), function: String };
    await rejected({ ...fine, metrics: 'exact_match' }, 'metrics must be a list');
    await rejected({ ...fine, metrics: ['exact_match', {}] }, 'metrics[1]');
    await rejected({ ...fine, metrics: [{ id: 5, name: 'x' }] }, 'metrics[0]');
    await rejected({ ...fine, metrics: [{ name: 'x', score: 5 }] }, 'score must be a function');
    await rejected({ ...fine, onError: 5 }, 'onError');
    await rejected({ dataset: questions(1), promptTemplate: 5 }, 'promptTemplate');
    await rejected({ ...fine, experimentTags: 'xy' }, 'experimentTags');
    await rejected({ ...fine, name: 'wrong' }, 'unknown key "name"; the nearest is "experimentName"');
    await rejected({ ...fine, metricz: ['exact_match'] }, 'unknown key "metricz"; the nearest is "metrics"');
    await rejected({ ...fine, rows: { limt: 1 } }, 'unknown key "limt" in rows; the nearest is "limit"');
    await rejected({ ...fine, rows: { sample: { sizes: 1 } } }, 'unknown key "sizes" in rows.sample; the nearest is "size"');
    await rejected(
      { ...fine, metrics: [{ name: 'correctness', verson: 2 }] },
      'unknown key "verson" in metrics; the nearest is "version"',
    );
    await rejected({ ...fine, metrics: [{ name: 'x', score: () => 1, directon: 'lower' }] }, 'the nearest is "direction"');
    await rejected(
      { ...fine, function: undefined, promptTemplate: { template: '{{input}}', settings: { modelAlias: 'x' } } },
      'unknown key "settings" in promptTemplate; the nearest is "name"',
    );
    await rejected({ ...fine, gate: { max_failed: 0 } }, 'unknown key "max_failed" in gate; the nearest is "maxFailed"');
    await rejected(
      { ...fine, gate: { metrics: { exact_match: { mim: 1 } } } },
      'unknown key "mim" in gate.metrics["exact_match"]; the nearest is "min"',
    );
    for (const concurrency of [0, 1.5, '3', Number.NaN]) await rejected({ ...fine, concurrency }, 'concurrency');
    await rejected({ ...fine, rowTimeLimitMs: -1 }, 'rowTimeLimitMs');
    // Mistakes that only the service finds.
    await rejected({ ...fine, concurrency: 100_000 }, 'concurrency');
    await rejected({ ...fine, experimentGroupId: 'xx' }, 'experiment_group_id');
    await rejected({ ...fine, experimentGroup: 'x'.repeat(256) }, 'experiment_group');
    await rejected({ dataset: questions(1), promptTemplate: '{{input}}', promptSettings: { temperature: 'hot' } }, 'temperature');
    expect(await getExperiment(base)).toBeUndefined();
  });
});

describe('the logger', () => {
  test('logs traces whose spans nest as the calls do, however many run at once', async () => {
    const logger = new Logger({ ...here(), logStream: 'nested', flushEveryMs: 0 });
    const inner = log({ kind: 'tool' }, async (name: string) => {
      await sleep(Math.random() * 10);
      return `inner ${name}`;
    });
    const outer = log({ kind: 'agent' }, async (name: string) => {
      await sleep(Math.random() * 10);
      return [await inner(`${name}a`), await inner(`${name}b`)].join();
    });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        logger.trace(`trace ${index}`, async (trace) => {
          const result = await outer(String(index));
          trace.addLlmSpan({ input: 'say it', output: result, model: 'm', inputTokens: 1, outputTokens: 2, durationNs: 5 });
          return result;
        }),
      ),
    );
    await outer('alone');
    await logger.flush();
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const stream = streams.find(({ name }) => name === 'nested');
    const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
      log_stream_id: stream?.id,
      pagination: { limit: 100, starting_token: 0 },
    });
    const records = (body as { records: Trace[] }).records;
    expect(records).toHaveLength(51);
    for (const { id } of records.slice(0, 10)) {
      const trace = (await service.request('GET', `/v2/projects/${projectId}/traces/${id}?log_stream_id=${stream?.id}`))
        .body as Trace;
      const name = trace.input.replace('trace ', '');
      const agent = trace.spans.find((span) => span.name === 'agent' || span.input === name);
      expect(agent?.input).toBe(name);
      expect(agent?.spans.map(({ input }) => input)).toEqual([`${name}a`, `${name}b`]);
    }
  });

  test('what goes wrong is said by every record that it failed, and by no other', async () => {
    const logger = new Logger({ ...here(), logStream: 'failures', flushEveryMs: 0 });
    const fail = log({ kind: 'tool' }, (): string => {
      throw new TypeError('no such city');
    });
    const said = 'TypeError: no such city';
    await expect(logger.trace('thrown', () => fail())).rejects.toThrow('no such city');
    await logger.trace('caught', (trace) => {
      trace.addLlmSpan({ input: 'x', output: '', statusCode: 429, errorMessage: 'too many' });
      try {
        return fail();
      } catch {
        return 'all the same';
      }
    });
    expect(() => fail()).toThrow(); // a trace of its own
    logger.startTrace('by hand').conclude('', { statusCode: 503, errorMessage: 'away' });
    await logger.flush();
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
      log_stream_id: streams.find(({ name }) => name === 'failures')?.id,
    });
    interface Said {
      id: string;
      input: string;
      output: string;
      error_message: string;
      spans: Said[];
    }
    const found = new Map<string, string[]>();
    for (const { id } of (body as { records: Said[] }).records) {
      const trace = (await service.request('GET', `/v2/projects/${projectId}/traces/${id}`)).body as Said;
      found.set(trace.input, [trace.error_message, ...trace.spans.map(({ error_message }) => error_message)]);
    }
    expect(Object.fromEntries(found)).toEqual({
      thrown: [said, said],
      caught: ['', 'too many', said],
      '[]': [said, said],
      'by hand': ['away'],
    });
  });

  test('a generator has its span until it is read to its end, with all that it gave', async () => {
    const logger = new Logger({ ...here(), logStream: 'streamed', flushEveryMs: 0 });
    const stream = log({ kind: 'llm' }, async function* tell(words: string[]) {
      for (const word of words) {
        await sleep(5);
        yield word;
      }
    });
    const traced = await logger.trace('go', async () => {
      const words: string[] = [];
      for await (const word of stream(['one ', 'two'])) words.push(word);
      return words;
    });
    expect(traced).toEqual(['one ', 'two']);
    await logger.flush();
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const { body } = await service.request('POST', `/v2/projects/${projectId}/spans/search`, {
      log_stream_id: streams.find(({ name }) => name === 'streamed')?.id,
      pagination: { limit: 10, starting_token: 0 },
    });
    const [span] = (body as { records: { output: unknown; name: string; metrics: { duration_ns: number } }[] }).records;
    expect(span).toMatchObject({ name: 'tell', output: { role: 'assistant', content: 'one two' } });
    expect(span?.metrics.duration_ns).toBeGreaterThan(9_000_000);
  });

  test('a generator that does not wait is one span too, with what it calls below it; other results are handed on as they are', async () => {
    const logger = new Logger({ ...here(), logStream: 'in step', flushEveryMs: 0 });
    const inner = log({ kind: 'tool', name: 'inner' }, (text: string) => text);
    const outer = log({ kind: 'agent', name: 'outer' }, function* tell(words: string[]): Generator<string, void, string> {
      let told = '';
      for (const word of words) told = (yield inner(word + told)) ?? '';
    });
    let asked = 0;
    // biome-ignore lint/suspicious/noThenProperty: what query builders give
    const query = { then: (tell: (value: number) => void) => void tell(++asked), where: () => 'narrowed' };
    const build = log({ kind: 'tool', name: 'build' }, () => query as unknown as { where(): string });
    const careful = log({ kind: 'workflow', name: 'careful' }, function* tell(): Generator<number, string, void> {
      try {
        yield 1;
      } catch {
        yield 2;
      } finally {
        inner('closed');
      }
      return 'end';
    });
    await logger.trace('go', async () => {
      const steps = outer(['a', 'b']);
      expect([steps.next().value, steps.next('!').value, steps.next().done]).toEqual(['a', 'b!', true]);
      expect([build().where(), asked]).toEqual(['narrowed', 0]);
      const held = careful();
      expect([held.next().value, held.throw(new Error('x')).value, held.next().value]).toEqual([1, 2, 'end']);
      const left = careful();
      left.next();
      expect(left.return('early').value).toBe('early');
    });
    await logger.flush();
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
      log_stream_id: streams.find(({ name }) => name === 'in step')?.id,
    });
    const [trace] = (body as { records: { id: string }[] }).records;
    const whole = (await service.request('GET', `/v2/projects/${projectId}/traces/${trace?.id}`)).body;
    expect(whole).toMatchObject({
      spans: [
        {
          name: 'outer',
          output: 'ab!',
          spans: [
            { name: 'inner', output: 'a' },
            { name: 'inner', output: 'b!' },
          ],
        },
        { name: 'build' },
        { name: 'careful', output: '[1,2]' },
        { name: 'careful', output: '[1]' },
      ],
    });
  });

  test('ten thousand small traces are stored in seconds', async () => {
    const logger = new Logger({ ...here(), logStream: 'many' });
    const started = performance.now();
    for (let index = 0; index < 10_000; index++) {
      const trace = logger.startTrace(`input ${index}`);
      trace.addLlmSpan({ input: 'a', output: 'b', model: 'm' });
      trace.conclude('output');
    }
    await logger.flush();
    const seconds = (performance.now() - started) / 1_000;
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/count`, {
      log_stream_id: streams.find(({ name }) => name === 'many')?.id,
    });
    expect(body).toMatchObject({ total_count: 10_000 });
    expect(seconds).toBeLessThan(150);
  });
});

describe('a URL as the runner', () => {
  test('gets the headers it was given; no file of the service holds their values', async () => {
    const secret = `Bearer ${crypto.randomUUID()}`;
    const received: (string | undefined)[] = [];
    const endpoint = createServer((request, response) => {
      received.push(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ output: 'ok' }));
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    const urlPath = `/${crypto.randomUUID()}`;
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}${urlPath}`;
    const { id } = await createExperiment({ ...here(), experimentName: 'by url' });
    const base = `/projects/${projectId}/experiments/${id}`;
    const runs = [{ records: questions(2) }, { rows_to_run: 'missing' }];
    for (const run of runs) {
      const { status } = await service.request('POST', `${base}/run`, {
        ...run,
        runner: { kind: 'http', url, headers: { Authorization: secret } },
      });
      expect(status).toBe(200);
      await vi.waitFor(
        async () => expect((await service.request('GET', `${base}/progress`)).body).toMatchObject({ state: 'completed' }),
        { timeout: 240_000 },
      );
    }
    await new Promise((resolve) => endpoint.close(resolve));
    expect(received).toEqual([secret, secret]);
    const holders: string[] = [];
    let holdsUrl = false;
    for (const path of await filesBelow(service.dataDir)) {
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      holdsUrl ||= content.includes(urlPath);
      if (content.includes(secret)) holders.push(path);
    }
    expect(holdsUrl).toBe(true);
    expect(holders).toEqual([]);
  });
});

describe('prompt templates', () => {
  let endpoint: ModelEndpoint;

  beforeAll(async () => {
    endpoint = await startModelEndpoint();
    endpoint.otherwise((request, response) => {
      const messages = request.body.messages as { content: string }[];
      return says(`model on ${messages.at(-1)?.content}`)(request, response);
    });
    await service.client.send('/integrations/custom/clienttest', {
      method: 'PUT',
      body: {
        ...{ endpoint: endpoint.url, authentication_type: 'none', models: ['parrot'] },
        custom_header_mapping: { job_id: 'X-Job', run_id: 'X-Run' },
      },
    });
  });
  afterAll(() => endpoint?.close());

  test('are created and found by name', async () => {
    const created = await createPrompt({
      ...here(),
      name: 'greeting',
      template: 'Hello {{input}}',
      settings: { modelAlias: 'parrot', temperature: 0 },
    });
    expect(created.selected_version).toMatchObject({
      template: [{ role: 'user', content: 'Hello {{input}}' }],
      settings: { model_alias: 'parrot', temperature: 0 },
    });
    expect(await getPrompt({ client: service.client, name: 'greeting' })).toMatchObject({ id: created.id });
    expect(await getPrompt({ client: service.client, name: 'greetings' })).toBeUndefined();
  });

  test('a number of a local metric outside of its declared range is an error of the metric, and no value', async () => {
    const warned: string[] = [];
    const logger = { warn: (line: string) => void warned.push(line) };
    const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey, logger });
    const range = { min: 1, max: 5 };
    const { experiment } = await runExperiment({
      ...{ client, projectId, experimentName: 'ranges' },
      dataset: questions(1),
      function: (input: string) => input,
      metrics: [
        { name: 'grade', range, score: () => 7 },
        { name: 'grades', range, score: () => [1, 0.5] },
        { name: 'lost', range, score: () => Number.NaN },
        { name: 'good', range, score: () => 5 },
        { name: 'parts', range, score: () => ({ tokens: 40 }) },
      ],
    });
    const [trace] = await tracesOf(experiment.id);
    expect(trace?.metrics).toMatchObject({ good: 5 });
    for (const name of ['grade', 'grades', 'lost']) expect(trace?.metrics).not.toHaveProperty(name);
    expect(warned.join('\n')).toMatch(/metric "grade" of row 0: .*7 is outside of its range, 1 to 5/);
  });

  test('run over a dataset, inline, by name and as an object; onError is ignored with a warning', async () => {
    await createDataset({ ...here(), name: 'towns', content: [{ input: 'Lima' }, { input: 'Oslo' }, { input: 'Rome' }] });
    const warnings: string[] = [];
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      logger: { warn: (message: string) => void warnings.push(message) },
    });
    const seen: number[] = [];
    const run = (experimentName: string, promptTemplate: PromptChoice, more: object = {}) =>
      runExperiment({
        client,
        projectId,
        experimentName,
        promptTemplate,
        dataset: 'towns',
        promptSettings: { modelAlias: 'parrot' },
        ...more,
      });
    const inline = await run('inline prompt', 'Describe {{input}}', {
      onError: () => undefined,
      onProgress: ({ rows_done }: { rows_done: number }) => seen.push(rows_done),
      metrics: ['output_tokens'],
      experimentTags: { kind: 'inline' },
    });
    expect(warnings.join()).toContain('onError is ignored');
    expect(inline.progress).toMatchObject({ state: 'completed', runner: 'prompt_template', rows_done: 3, rows_failed: 0 });
    expect(inline.experiment).toMatchObject({
      prompt_model: 'parrot',
      tags: { kind: [{ value: 'inline' }] },
      experiment_group_name: 'towns Experiment Group',
    });
    expect(seen.at(-1)).toBe(3);
    const outputs = (await tracesOf(inline.experiment.id)).map(({ output }) => output);
    expect(outputs.toSorted()).toEqual(['Lima', 'Oslo', 'Rome'].map((town) => `model on Describe ${town}`));
    const { id } = inline.experiment;
    const jobs = (await service.request('GET', `/projects/${projectId}/runs/${id}/jobs`)).body as {
      id: string;
      job_name: string;
    }[];
    const job = jobs.find(({ job_name }) => job_name === 'playground_run');
    const sent = endpoint.requests.filter(({ headers }) => headers['x-run'] === id).map(({ headers }) => headers['x-job']);
    expect(sent).toEqual(Array.from({ length: 3 }, () => job?.id));
    // The same text again is the same version; another one is a new version of the same template.
    await run('inline prompt', 'Describe {{input}}', { resume: false });
    expect(await getPrompt({ client, name: 'inline prompt prompt' })).toMatchObject({ total_versions: 1 });
    await run('inline prompt', [{ role: 'user', content: 'Praise {{input}}' }], { concurrency: 1 });
    const template = await getPrompt({ client, name: 'inline prompt prompt' });
    expect(template?.total_versions).toBe(2);
    const named = await run('named', 'inline prompt prompt');
    expect(named.experiment.prompt).toMatchObject({
      prompt_template_id: template?.id,
      version_index: template?.selected_version.version,
    });
    const object = await run('object', template as PromptResponse, { wait: false });
    expect(['requested', 'running', 'completed']).toContain(object.progress.state);
    const records = await run('records', { template: 'Repeat {{input}}' }, { dataset: [{ input: 'Bern' }] });
    expect((await tracesOf(records.experiment.id)).map(({ output }) => output)).toEqual(['model on Repeat Bern']);
  });
});

describe('when the way to the service is bad', () => {
  /** A client whose requests pass through `meddle` first; it may break off before or after the service has acted. */
  const through = (meddle: (path: string, send: () => Promise<Response>) => Promise<Response>) =>
    new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      retries: 0,
      fetch: (url, init) => meddle(new URL(String(url)).pathname, () => fetch(url, init)),
      logger: { warn: () => undefined },
    });

  test('answers that are lost on the way cost no row and no result', async () => {
    const lost = { leases: 0, results: 0 };
    const client = through(async (path, send) => {
      const response = await send();
      const kind = path.endsWith('/rows/lease') ? 'leases' : path.endsWith('/rows/results') ? 'results' : undefined;
      if (!kind || ++lost[kind] % 2 === 0) return response;
      throw new TypeError('fetch failed');
    });
    const errors: unknown[] = [];
    const calls = new Map<string, number>();
    const { progress, experiment } = await runExperiment({
      client,
      projectId,
      experimentName: 'lossy',
      dataset: questions(100),
      concurrency: 10,
      onError: (error) => errors.push(error),
      function: (input: string) => {
        calls.set(input, (calls.get(input) ?? 0) + 1);
        return input;
      },
    });
    expect(progress).toMatchObject({ state: 'completed', rows_done: 100, rows_failed: 0 });
    expect(await tracesOf(experiment.id)).toHaveLength(100);
    expect([...calls.values()]).toEqual(Array.from({ length: 100 }, () => 1));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatchObject({ name: 'ConnectionError' });
  });

  test('a result that the service refuses makes its own row fail, and no other', async () => {
    const errors: unknown[] = [];
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      fetch: async (url, init) =>
        String(init?.body).includes('"output":"question 5"') ? new Response('{}', { status: 413 }) : fetch(url, init),
    });
    const { progress, experiment } = await runExperiment({
      ...here(),
      client,
      experimentName: 'refused',
      dataset: questions(20),
      onError: async (error) => {
        errors.push(error);
        throw new Error('of the callback'); // which does not end the run
      },
      function: (input: string) => input,
    });
    expect(progress).toMatchObject({ state: 'completed', rows_done: 20, rows_failed: 1 });
    expect(errors[0]).toMatchObject({ name: 'HttpStatusError', status: 413 });
    expect((await tracesOf(experiment.id)).find(({ status_code }) => status_code === 500)?.input).toBe('question 5');
  });

  test('a creation whose answer is lost is repeated and makes one experiment', async () => {
    let lost = false;
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (lost || init?.method !== 'POST' || !String(url).endsWith('/experiments')) return response;
        lost = true;
        throw new TypeError('fetch failed');
      },
    });
    const created = await createExperiment({ client, projectId, experimentName: 'once only' });
    expect(lost).toBe(true);
    expect((await getExperiments(here())).filter(({ name }) => name === 'once only').map(({ id }) => id)).toEqual([created.id]);
  });

  test('a record that the service refuses does not keep others from being stored, and is reported', async () => {
    const warned: string[] = [];
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      logger: { warn: (line: string) => void warned.push(line) },
      // Something on the way puts a number before a trace.
      fetch: (url, init = {}) => {
        const { body } = init;
        const changed = typeof body === 'string' ? body.replace(/\{"type":"trace","id":"[^"]+","name":"odd"/, '7,$&') : body;
        return fetch(url, { ...init, ...(changed == null ? {} : { body: changed }) });
      },
    });
    const logger = new Logger({ client, projectId, logStream: 'mixed', flushEveryMs: 0 });
    const log = (name: string, to = logger) => to.startTrace('in', { name }).conclude('out', { statusCode: 1.5 });
    for (const name of ['fine', 'odd']) log(name);
    const refused = {
      name: 'RecordsRefusedError',
      count: 1,
      refused: [{ index: 1, message: expect.stringContaining('expected object') }],
    };
    await expect(logger.flush()).rejects.toMatchObject(refused);
    await logger.flush();
    const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
    const log_stream_id = streams.find(({ name }) => name === 'mixed')?.id;
    const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, { log_stream_id });
    // Both may be of one millisecond.
    const { records } = body as { records: { name: string }[] };
    expect(records.toSorted((a, b) => a.name.localeCompare(b.name))).toMatchObject([
      { name: 'fine', user_metadata: { status_code: '1.5' } },
      { name: 'odd', user_metadata: { status_code: '1.5' } },
    ]);
    expect(warned).toEqual([]);
    // In the background a refusal is a warning: each trace is a request here.
    const inBackground = new Logger({ client, projectId, logStream: 'mixed', flushEveryMs: 0, batchSize: 1 });
    log('odd', inBackground);
    await inBackground.flush();
    expect(warned).toEqual([expect.stringContaining('1 records could not be stored')]);
  });
});
