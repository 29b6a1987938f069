import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  compareExperiments,
  gateExperiment,
  getExperiment,
  type LocalMetric,
  Logger,
  rerunExperiment,
  runExperiment,
  ServiceClient,
} from '../../client/index.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
let client: ServiceClient;
const warned: string[] = [];

beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
  client = new ServiceClient({
    apiUrl: service.url,
    apiKey: service.apiKey,
    logger: { warn: (line: string) => void warned.push(line) },
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

interface Found {
  input: string;
  name: string;
  metrics: Record<string, unknown>;
  metric_info: Record<
    string,
    { status_type: string; value?: unknown; explanation?: string; metadata?: object; message?: string }
  >;
}

async function found(kind: 'traces' | 'spans', run: object, more: object = {}): Promise<Found[]> {
  const body = { ...run, select_columns: { include_all_metrics: true }, include_code_metric_metadata: true, ...more };
  const answer = await service.request('POST', `/v2/projects/${projectId}/${kind}/search`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return (answer.body as { records: Found[] }).records;
}

const dataset = ['one', 'two', 'three', 'four'].map((input) => ({ input, output: input }));
const run = (experimentName: string, metrics: (LocalMetric<string, string> | string)[], more: object = {}) =>
  runExperiment<string, string>({
    ...{ client, projectId, experimentName, dataset },
    function: (input: string) => input,
    metrics,
    ...more,
  });

const shapes: LocalMetric<string, string>[] = [
  {
    name: 'parts',
    scales: { fluency: { direction: 'higher', range: { min: 0, max: 1 } } },
    score: ({ input }) => (input === 'four' ? { fluency: 0 } : { fluency: input === 'one' ? 1 : 0.5, tone: 'calm' }),
  },
  { name: 'braintrust', score: () => ({ name: 'Factuality', score: 0.6, metadata: { rationale: 'mostly right' } }) },
  { name: 'langsmith', score: () => ({ results: [{ key: 'brevity', score: true, comment: 'short' }] }) },
  { name: 'reasoned', score: () => ({ score: 0.75, reasoning: 'three of four' }) },
  { name: 'pair', score: () => [0.25, { raw: 'a quarter' }] },
  {
    name: 'several',
    score: () => [
      { name: 'left', score: 1 },
      { key: 'right', score: 0, comment: 'none' },
    ],
  },
  { name: 'plain', score: ({ input }) => input.length },
  { name: 'skipped', score: ({ input }) => (input === 'one' ? 1 : null) },
];

describe('results of local metrics', () => {
  test('are columns with explanations, of which each has its own count', async () => {
    const { experiment } = await run('shapes', shapes);
    const traces = await found('traces', { experiment_id: experiment.id });
    const one = traces.find(({ input }) => input === 'one');
    expect(one?.metrics).toMatchObject({
      ...{ fluency: 1, tone: 'calm', Factuality: 0.6, brevity: true, pair: 0.25, left: 1, right: 0, plain: 3, skipped: 1 },
    });
    for (const name of ['parts', 'braintrust', 'langsmith', 'several']) expect(one?.metrics).not.toHaveProperty(name);
    expect(one?.metric_info).toMatchObject({
      fluency: { status_type: 'success', value: 1 },
      Factuality: { value: 0.6, explanation: 'mostly right', metadata: { rationale: 'mostly right' } },
      brevity: { value: true, explanation: 'short' },
      reasoned: { value: 0.75, explanation: 'three of four' },
      pair: { value: 0.25, metadata: { raw: 'a quarter' } },
      right: { value: 0, explanation: 'none' },
    });
    expect(traces.find(({ input }) => input === 'two')?.metric_info.skipped).toMatchObject({ status_type: 'not_applicable' });
    const above = await found('traces', {
      experiment_id: experiment.id,
      filters: [{ type: 'number', column_id: 'metrics/fluency', operator: 'gte', value: 0.5 }],
    });
    expect(above).toHaveLength(3);
    expect(experiment.aggregate_metrics).toMatchObject({
      fluency: 0.5,
      average_fluency: 0.5,
      count_fluency: 4,
      Factuality: 0.6,
      brevity: 1,
      right: 0,
    });
    expect(experiment.aggregates).toMatchObject({
      fluency: { figure: 0.5, counts: { values: 4, missing: 0 } },
      tone: { counts: { values: 3, missing: 1 } },
      skipped: { figure: 1, counts: { values: 1, not_applicable: 3 } },
    });
    const columns = await service.request('POST', `/v2/projects/${projectId}/traces/available_columns`, {
      experiment_id: experiment.id,
    });
    const ids = (columns.body as { columns: { id: string }[] }).columns.map(({ id }) => id);
    expect(ids).toEqual(
      expect.arrayContaining(
        ['fluency', 'tone', 'Factuality', 'brevity', 'left', 'right', 'pair'].map((name) => `metrics/${name}`),
      ),
    );
  });

  test('have names that comparisons, gates and another start know', async () => {
    const better = await run('named better', shapes);
    const worse = await run('named worse', [
      { ...(shapes[0] as LocalMetric<string, string>), score: () => ({ fluency: 0, tone: 'rough' }) },
    ]);
    const ids = { client, projectId, baselineId: better.experiment.id, experimentIds: [worse.experiment.id] };
    const compared = await compareExperiments(ids);
    expect(JSON.stringify(compared)).toContain('"fluency"');
    const gated = await gateExperiment({
      client,
      projectId,
      experimentId: worse.experiment.id,
      metrics: { fluency: { min: 0.4 } },
    });
    expect(gated.checks).toMatchObject([{ metric: 'fluency', status: 'failed' }]);
    const progress = await rerunExperiment<string, string>({
      ...{ client, projectId, experimentId: better.experiment.id, metric: 'tone', state: ['missing'], again: 'rows' },
      function: (input) => input,
      metrics: [{ name: 'parts', score: () => ({ fluency: 1, tone: 'late' }) }],
    });
    expect(progress.rerun).toMatchObject({ executions: 1 });
    const again = await getExperiment({ client, projectId, experimentName: better.experiment.name });
    expect(again?.aggregates.tone?.counts).toMatchObject({ values: 4, missing: 0 });
  });

  test('that are no scores are failed scores with the reason, and cost no row and no other score', async () => {
    warned.length = 0;
    const { experiment, progress } = await run('failing', [
      { name: 'grade', range: { min: 1, max: 5 }, score: () => ({ score: 7, reason: 'great' }) },
      { name: 'nan', score: () => Number.NaN },
      { name: 'half', score: () => ({ sound: 1, broken: Number.POSITIVE_INFINITY, cost: 3 }) },
      { name: 'misspelt', score: () => ({ score: 0.5, coment: 'x' }) as never },
      { name: 'taken', score: () => ({ exact_match: true }) },
      { name: 'odd', score: () => new Date(0) as never },
      {
        name: 'generator',
        *score() {
          yield 1;
        },
      } as never,
      {
        name: 'circular',
        score: () => {
          const one: Record<string, unknown> = {};
          one.self = one;
          return one as never;
        },
      },
      {
        name: 'thrown',
        score: () => {
          throw new Error('no score');
        },
      },
    ]);
    expect(progress).toMatchObject({ rows_done: 4, rows_failed: 0 });
    const [trace] = await found('traces', { experiment_id: experiment.id });
    const failed = (message: string) => ({ status_type: 'error', message: expect.stringContaining(message) });
    expect(trace?.metric_info).toMatchObject({
      grade: failed('7 is outside of its range, 1 to 5'),
      nan: failed('NaN, which is no number'),
      sound: { status_type: 'success', value: 1 },
      broken: failed('Infinity'),
      half: failed('"cost" is no name for a metric'),
      misspelt: failed('"coment"'),
      taken: failed('"exact_match", which is the name of another metric'),
      odd: failed('a Date'),
      generator: failed('a generator'),
      self: failed('no score'),
      thrown: failed('no score'),
    });
    expect(trace?.metrics).not.toHaveProperty('grade');
    expect(experiment.aggregates).toMatchObject({
      grade: { figure: null, counts: { values: 0, failed: 4 } },
      sound: { figure: 1, counts: { values: 4, failed: 0 } },
    });
    expect(warned.join('\n')).toMatch(/metric "grade" of row \d: 7 is outside of its range, 1 to 5/);
  });

  test('have names that are columns of their own, or nothing starts', async () => {
    const refused = (metrics: unknown[], message: string) => expect(run('refused', metrics as never)).rejects.toThrow(message);
    const score = () => 1;
    await refused([{ name: 'exact_match', score }], '"exact_match" is a metric of the service');
    await refused([{ name: 'cost', score }], 'the service measures that itself');
    await refused(
      [
        { name: 'a', score },
        { name: 'a', score },
      ],
      'two metrics are called "a"',
    );
    await refused([{ name: 'a', score, range: { min: 5, max: 1 } }], 'the range of "a"');
    await refused([{ name: 'a', score, direction: 'up' }], 'the direction of "a"');
    await refused([{ name: 'a', score, scales: { b: { range: { min: 0, mx: 1 } } } }], 'the nearest is "max"');
    expect(await getExperiment({ client, projectId, experimentName: 'refused' })).toBeUndefined();
  });
});

test('scores that are logged with traces and spans are columns with explanations, too', async () => {
  const logger = new Logger({ client, projectId, logStream: 'scored' });
  const trace = logger.startTrace('q', {
    name: 'scored',
    metrics: { parts: { clarity: 1, depth: 0.5 }, tone: { score: 'calm', comment: 'no shouting' } },
  });
  trace.addToolSpan({
    name: 'tool',
    input: 'a',
    output: 'b',
    metrics: { quality: { score: 0.5, reason: 'half' }, several: [{ name: 'x1', score: 1 }], nan: Number.NaN },
  });
  trace.conclude('a');
  await logger.flush();
  const streams = await service.request('GET', `/v2/projects/${projectId}/log_streams`);
  const stream = (streams.body as { id: string; name: string }[]).find(({ name }) => name === 'scored');
  const run = { log_stream_id: stream?.id };
  const [scored] = await found('traces', run);
  expect(scored?.metrics).toMatchObject({ clarity: 1, depth: 0.5, tone: 'calm' });
  expect(scored?.metric_info.tone).toMatchObject({ value: 'calm', explanation: 'no shouting' });
  const [span] = await found('spans', run);
  expect(span?.metrics).toMatchObject({ quality: 0.5, x1: 1 });
  expect(span?.metric_info).toMatchObject({ quality: { explanation: 'half' }, nan: { status_type: 'error' } });
  const traces = [
    {
      input: 'by hand',
      metrics: {
        judged: { score: 0.75, explanation: 'why' },
        listed: [{ key: 'k1', score: 1, comment: 'c' }],
        pair: [0.5, { raw: 1 }],
        map: { a: 1 },
      },
    },
  ];
  await service.request('POST', `/v2/projects/${projectId}/traces`, { ...run, traces });
  const byHand = (await found('traces', run)).find(({ input }) => input === 'by hand');
  expect(byHand?.metrics).toEqual({ judged: 0.75, k1: 1, pair: 0.5, map: { a: 1 } });
  expect(byHand?.metric_info).toMatchObject({
    judged: { explanation: 'why' },
    k1: { explanation: 'c' },
    pair: { value: 0.5, metadata: { raw: 1 } },
    map: { value: '{"a":1}' },
  });
});

test('a map that is logged beside a value as its metadata is no metric of its own', async () => {
  const log = async (metrics: object) => {
    const stream = await service.request('POST', `/v2/projects/${projectId}/log_streams`, { name: `beside ${Math.random()}` });
    const run = { log_stream_id: (stream.body as { id: string }).id };
    await service.request('POST', `/v2/projects/${projectId}/traces`, { ...run, traces: [{ input: 'q', metrics }] });
    const [record] = await found('traces', run);
    const columns = await service.request('POST', `/v2/projects/${projectId}/traces/available_columns`, run);
    const ids = (columns.body as { columns: { id: string }[] }).columns.map(({ id }) => id);
    return { record, columns: ids.filter((id) => id.startsWith('metrics/beside')).sort() };
  };
  const { record, columns } = await log({
    ...{
      beside_a: 0.5,
      beside_a_metadata: { why: 'half' },
      beside_b: { score: 1, metadata: { own: 1 } },
      beside_b_metadata: { x: 1 },
    },
    ...{ beside_c_metadata: { alone: 1 }, beside_d: 1, beside_d_metadata: 'a text' },
  });
  expect(columns).toEqual(['a', 'b', 'c_metadata', 'd', 'd_metadata'].map((name) => `metrics/beside_${name}`));
  expect(record?.metric_info).toMatchObject({
    beside_a: { value: 0.5, metadata: { why: 'half' } },
    beside_b: { value: 1, metadata: { own: 1 } },
    beside_d: { value: 1 },
    beside_d_metadata: { value: 'a text' },
  });
  expect(record?.metric_info).not.toHaveProperty('beside_a_metadata');
  expect(record?.metrics).toMatchObject({ beside_a: 0.5, beside_a_metadata: { why: 'half' } });
});
