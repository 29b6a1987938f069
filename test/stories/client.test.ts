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
  runExperiment,
} from '../../client/index.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  projectId = (await service.project()).id;
}, 120_000);
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
        { name: 'same', score: ({ expected }, output) => expected === output },
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
    expect(link).toContain(experiment.id);
    expect(experiment).toMatchObject({
      name: 'function',
      experiment_group_name: 'Ungrouped',
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

  test('a second process takes over; the first stops and says why; other records make a new experiment', async () => {
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
    const first = run(questions(30), 400);
    const refused = expect(first).rejects.toMatchObject({ name: 'TakenOverError' });
    await vi.waitFor(async () => expect(await getExperiment({ ...here(), experimentName: 'contested' })).toBeDefined());
    const contested = await getExperiment({ ...here(), experimentName: 'contested' });
    await vi.waitFor(
      async () => {
        const { body } = await service.request('GET', `/projects/${projectId}/experiments/${contested?.id}/progress`);
        expect((body as { rows_done: number }).rows_done).toBeGreaterThan(0);
      },
      { timeout: 10_000 },
    );
    const second = await run(questions(30), 1);
    expect(second).toMatchObject({
      resumed: true,
      progress: { rows_done: 30, state: 'completed' },
      experiment: { id: contested?.id },
    });
    await refused;
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
    expect(seconds).toBeLessThan(30);
  });
});

describe('prompt templates', () => {
  test('are created and found by name', async () => {
    const created = await createPrompt({
      ...here(),
      name: 'greeting',
      template: 'Hello {{input}}',
      settings: { modelAlias: 'mine', temperature: 0 },
    });
    expect(created.selected_version).toMatchObject({
      template: [{ role: 'user', content: 'Hello {{input}}' }],
      settings: { model_alias: 'mine', temperature: 0 },
    });
    expect(await getPrompt({ client: service.client, name: 'greeting' })).toMatchObject({ id: created.id });
    expect(await getPrompt({ client: service.client, name: 'greetings' })).toBeUndefined();
  });
});
