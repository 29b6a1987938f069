import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Logger, log, playgroundCall, runExperiment } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let project: string;
let stream: string;
beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await modelAt(service.client, 'calls', endpoint.url, ['gpt-4o', 'home-made']);
});
afterAll(async () => {
  await endpoint?.close();
  await service?.[Symbol.asyncDispose]();
});

// biome-ignore lint/suspicious/noExplicitAny: answers as they come over the wire
type Json = any;

const send = async (method: string, path: string, body?: object): Promise<Json> => {
  const reply = await service.request(method, `/v2/projects/${project}${path}`, body && { log_stream_id: stream, ...body });
  expect(reply, `${method} ${path}: ${JSON.stringify(reply.body)}`).toMatchObject({
    status: expect.toSatisfy((status) => status < 300),
  });
  return reply.body;
};
/** Each test has a project and a log stream of its own. */
async function space(): Promise<void> {
  project = (await service.project()).id;
  stream = (await send('POST', '/log_streams', { name: 'main' })).id;
}
const found = async (kind: 'spans' | 'traces' | 'sessions', body: object = {}): Promise<Json[]> =>
  (await send('POST', `/${kind}/search`, body)).records;
const llm = (fields: object = {}, metrics: object = {}) => ({
  type: 'llm',
  id: newId(),
  model: 'gpt-4o',
  input: 'q',
  output: 'a',
  metrics: { num_input_tokens: 1000, num_output_tokens: 100, ...metrics },
  ...fields,
});
const logSpans = (...spans: object[]) => send('POST', '/traces', { traces: [{ id: newId(), input: 'q', spans }] });

const PRICE = (1000 * 2.5 + 100 * 10) / 1e6;

describe('a model call', () => {
  test('costs the price of its model on its day, or what was logged with it', async () => {
    await space();
    const spans = [
      llm({ name: 'priced' }),
      llm({ name: 'cached' }, { num_cached_input_tokens: 600 }),
      llm({ name: 'spelled otherwise', model: 'OpenAI/GPT-4o' }),
      llm({ name: 'in spring', model: 'o3', created_at: '2025-05-01T00:00:00Z' }),
      llm({ name: 'in summer', model: 'o3', created_at: '2025-07-01T00:00:00Z' }),
      llm({ name: 'logged' }, { cost: 0.5 }),
      llm({ name: 'free of charge' }, { cost: 0 }),
      llm({ name: 'unknown', model: 'home-made' }),
      llm({ name: 'not counted' }, { num_input_tokens: null, num_output_tokens: null }),
    ];
    await logSpans(...spans, {
      type: 'tool',
      name: 'tool',
      model: 'gpt-4o',
      metrics: { num_input_tokens: 1, num_output_tokens: 1 },
    });
    const records = new Map((await found('spans')).map((record) => [record.name, record]));
    const costs = Object.fromEntries([...records].map(([name, { metrics }]) => [name, metrics.cost]));
    expect(costs).toEqual({
      priced: expect.closeTo(PRICE, 12),
      cached: expect.closeTo((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6, 12),
      'spelled otherwise': expect.closeTo(PRICE, 12),
      'in spring': expect.closeTo((1000 * 10 + 100 * 40) / 1e6, 12),
      'in summer': expect.closeTo((1000 * 2 + 100 * 8) / 1e6, 12),
      logged: 0.5,
      'free of charge': 0,
    });
    expect(['priced', 'logged', 'unknown'].map((name) => records.get(name).cost_source)).toEqual(['price', 'logged', null]);
    const dear = {
      filters: [{ type: 'number', column_id: 'metrics/cost', operator: 'gt', value: 0.01 }],
      sort: { column_id: 'metrics/cost', ascending: false },
    };
    expect((await found('spans', dear)).map(({ name }) => name)).toEqual(['logged', 'in spring']);
    const { columns } = await send('POST', '/spans/available_columns', {});
    expect(columns.find(({ id }: Json) => id === 'metrics/cost')).toMatchObject({
      data_type: 'floating_point',
      data_unit: 'dollars',
      filterable: true,
      sortable: true,
    });
  });

  test('has its cost when its tokens have come, and keeps it as long as it is the same call', async () => {
    await space();
    const id = newId();
    const cost = async () => (await send('GET', `/spans/${id}`)).metrics.cost;
    await logSpans(llm({ id }, { num_input_tokens: null, num_output_tokens: null }));
    expect(await cost()).toBeUndefined();
    await send('PATCH', `/spans/${id}`, { span_id: id, metrics: { num_input_tokens: 1000, num_output_tokens: 100 } });
    expect(await cost()).toBeCloseTo(PRICE, 12);
    await send('PATCH', `/spans/${id}`, { span_id: id, tags: ['seen'] });
    expect(await cost()).toBeCloseTo(PRICE, 12);
    await send('PATCH', `/spans/${id}`, { span_id: id, metrics: { num_output_tokens: 200 } });
    expect(await cost()).toBeCloseTo(PRICE + 0.001, 12);
    await send('PATCH', `/spans/${id}`, { span_id: id, metrics: { cost: 7 } });
    await send('PATCH', `/spans/${id}`, { span_id: id, metrics: { num_output_tokens: 300 } });
    expect(await cost()).toBe(7);
  });

  test('an update that comes before its span prices it, and a repeat changes nothing', async () => {
    await space();
    const [id, trace] = [newId(), newId()];
    await send('PATCH', `/spans/${id}`, { span_id: id, metrics: { num_output_tokens: 200 } });
    const traces = [{ id: trace, input: 'q', spans: [llm({ id })] }];
    for (let times = 0; times < 2; times++) await send('POST', '/traces', { traces });
    expect((await send('GET', `/spans/${id}`)).metrics).toMatchObject({
      num_output_tokens: 200,
      cost: expect.closeTo(PRICE + 0.001, 12),
    });
  });

  test('that is logged again as another model, or as no call at all, has that cost', async () => {
    await space();
    const [id, trace] = [newId(), newId()];
    const again = (fields: object) =>
      send('POST', '/traces', { traces: [{ id: trace, input: 'q', spans: [llm({ id, ...fields })] }] });
    await again({});
    await again({ model: 'gpt-4o-mini' });
    expect((await send('GET', `/spans/${id}`)).metrics.cost).toBeCloseTo((1000 * 0.15 + 100 * 0.6) / 1e6, 12);
    await again({ model: 'home-made' });
    expect((await send('GET', `/spans/${id}`)).metrics).not.toHaveProperty('cost');
    await again({});
    await again({ type: 'tool', output: 'a' });
    expect((await send('GET', `/spans/${id}`)).metrics).not.toHaveProperty('cost');
  });
});

describe('every way of logging gives model calls a cost', () => {
  const costs = async (run: object = {}): Promise<number[]> => (await found('spans', run)).map(({ metrics }) => metrics.cost);

  test('OpenTelemetry, with reasoning and cache', async () => {
    await space();
    const attributes = {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 600,
      'gen_ai.usage.reasoning.output_tokens': 40,
    };
    const span = {
      ...{
        traceId: 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        name: 'chat',
        startTimeUnixNano: '1760000000000000000',
        endTimeUnixNano: '1760000001000000000',
      },
      attributes: Object.entries(attributes).map(([key, value]) => ({
        key,
        value: typeof value === 'string' ? { stringValue: value } : { intValue: value },
      })),
    };
    const headers = { project, logstream: 'main' };
    const reply = await service.request(
      'POST',
      '/otel/v1/traces',
      { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
      headers,
    );
    expect(reply.status).toBe(200);
    const [record] = await found('spans');
    expect(record.metrics).toMatchObject({
      num_cached_input_tokens: 600,
      num_reasoning_output_tokens: 40,
      cost: expect.closeTo((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6, 12),
    });
  });

  test('the client', async () => {
    await space();
    const logger = new Logger({ client: service.client, projectId: project, logStreamId: stream });
    const trace = logger.startTrace('q');
    trace.addLlmSpan({ input: 'q', output: 'a', model: 'gpt-4o', inputTokens: 1000, outputTokens: 100 });
    trace.addLlmSpan({ input: 'q', output: 'a', model: 'gpt-4o', metrics: { cost: 0.25 } });
    trace.conclude('a');
    await logger.flush();
    expect((await costs()).sort()).toEqual([expect.closeTo(PRICE, 12), 0.25]);
  });

  test('functions of the caller', async () => {
    await space();
    const { experiment } = await runExperiment({
      client: service.client,
      projectId: project,
      experimentName: 'calls',
      dataset: [{ input: 'q', output: 'a' }],
      function: log({ kind: 'llm', model: 'gpt-4o', inputTokens: 1000, outputTokens: 100 }, (text: string) => text),
    });
    expect(await costs({ log_stream_id: undefined, experiment_id: experiment.id })).toEqual([expect.closeTo(PRICE, 12)]);
  });

  test('prompts of experiments', async () => {
    await space();
    endpoint.otherwise(says('a'));
    const { experiment } = await runExperiment({
      client: service.client,
      projectId: project,
      experimentName: 'prompt',
      dataset: [{ input: 'q', output: 'a' }],
      promptTemplate: '{{input}}',
      promptSettings: { modelAlias: 'gpt-4o' },
    });
    expect(await costs({ log_stream_id: undefined, experiment_id: experiment.id })).toEqual([
      expect.closeTo((8 * 2.5 + 4 * 1.25 + 3 * 10) / 1e6, 12),
    ]);
  });
});

describe('traces and sessions', () => {
  const rows = async (kind: 'traces' | 'sessions', body: object = {}) =>
    (await found(kind, body)).map(({ name, metrics }) => [
      name,
      metrics.num_total_tokens,
      metrics.cost,
      metrics.num_spans_without_cost,
    ]);
  const call = (cost: number | null, tokens: number) => llm({ model: 'home-made' }, { cost, num_total_tokens: tokens });

  test('have the sums of their model calls, however deep, and say how many calls have no cost', async () => {
    await space();
    const inAgent = {
      type: 'agent',
      input: 'q',
      metrics: { num_total_tokens: 999, cost: 999 },
      spans: [call(1, 10), call(null, 5)],
    };
    await send('POST', '/traces', {
      session_external_id: 'visit',
      traces: [
        { name: 'two', input: 'q', created_at: '2026-01-02T00:00:00Z', metrics: { cost: 77 }, spans: [call(2, 20), inAgent] },
        { name: 'unknown', input: 'q', created_at: '2026-01-01T00:00:00Z', spans: [call(null, 7)] },
      ],
    });
    await send('POST', '/traces', {
      traces: [
        { name: 'own', input: 'q', created_at: '2026-01-03T00:00:00Z', metrics: { cost: 5, num_total_tokens: 50 } },
        { name: 'none', input: 'q', created_at: '2026-01-04T00:00:00Z', spans: [{ type: 'tool', input: 'q' }] },
      ],
    });
    expect(await rows('traces', { sort: { column_id: 'metrics/cost', ascending: true } })).toEqual([
      ['two', 35, 3, 1],
      ['own', 50, 5, undefined],
      ['none', undefined, undefined, undefined],
      ['unknown', 7, undefined, 1],
    ]);
    expect(await rows('sessions')).toEqual([['visit', 42, 3, 2]]);
    const where = (column: string, operator: string, value: number | number[]) => ({
      filters: [{ type: 'number', column_id: `metrics/${column}`, operator, value }],
    });
    const names = async (body: object) => (await found('traces', body)).map(({ name }) => name);
    expect(await names(where('cost', 'gte', 3))).toEqual(['own', 'two']);
    expect(await names(where('cost', 'between', [2, 4]))).toEqual(['two']);
    expect(await names(where('num_total_tokens', 'lt', 40))).toEqual(['two', 'unknown']);
    expect(await names(where('num_spans_without_cost', 'gt', 0))).toEqual(['two', 'unknown']);
    expect(await names({ ...where('cost', 'gt', 1), sort: { column_id: 'metrics/num_total_tokens', ascending: false } })).toEqual(
      ['own', 'two'],
    );
    expect(await names({ filter_tree: { not: { filter: where('cost', 'gt', 0).filters[0] } } })).toEqual(['none', 'unknown']);
    expect(await rows('sessions', where('cost', 'eq', 3))).toHaveLength(1);
    expect(await rows('sessions', { sort: { column_id: 'metrics/cost', ascending: false } })).toHaveLength(1);
    expect(await rows('sessions', where('num_total_tokens', 'gt', 42))).toEqual([]);
    const [two] = await found('traces', where('cost', 'eq', 3));
    expect((await send('GET', `/traces/${two.id}`)).metrics).toMatchObject({
      cost: 3,
      num_total_tokens: 35,
      num_spans_without_cost: 1,
    });
    expect((await send('GET', `/sessions/${two.session_id}`)).metrics).toMatchObject({ cost: 3, num_total_tokens: 42 });
  });

  test('follow late spans, rewrites, updates and deletions', async () => {
    await space();
    const [trace, first, second] = [newId(), newId(), newId()];
    const sums = async () => (await send('GET', `/traces/${trace}`)).metrics.cost;
    await send('POST', '/spans', { trace_id: trace, parent_id: trace, spans: [{ ...call(1, 1), id: first }] });
    await send('POST', '/traces', { traces: [{ id: trace, input: 'q' }] });
    expect(await sums()).toBe(1);
    await send('POST', '/spans', { trace_id: trace, parent_id: trace, spans: [{ ...call(2, 1), id: second }] });
    expect(await sums()).toBe(3);
    await send('PATCH', `/spans/${first}`, { span_id: first, metrics: { cost: 10 } });
    expect(await sums()).toBe(12);
    await send('POST', '/spans', { trace_id: trace, parent_id: trace, spans: [{ ...call(4, 1), id: second }] });
    expect(await sums()).toBe(14);
    await send('POST', '/spans/delete', { filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: first }] });
    expect(await sums()).toBe(4);
  });
});

describe('prices of an integration', () => {
  const price = async (name: string, prices: object[]): Promise<void> => {
    const { body } = await service.request('PUT', `/v2/integrations/custom/${name}`, {
      endpoint: endpoint.url,
      authentication_type: 'none',
      model_properties: [{ name: 'ours-7b', alias: 'Our Model' }],
    });
    const reply = await service.request('PUT', `/v2/integrations/${(body as Json).id}/prices`, { prices });
    expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  };
  const costOf = async (fields: object): Promise<number | undefined> => {
    const id = newId();
    await logSpans(llm({ id, ...fields }));
    return (await send('GET', `/spans/${id}`)).metrics.cost;
  };

  test('win over the list from their day on, by any name of the model, and change nothing that is stored', async () => {
    await space();
    const stored = newId();
    await logSpans(llm({ id: stored, model: 'gpt-4.1-nano' }));
    const before = (await send('GET', `/spans/${stored}`)).metrics.cost;
    await price('house', [
      { model: 'our model', input: 1, output: 10 },
      {
        model: 'gpt-4.1-nano',
        valid_from: '2026-01-01T00:00:00Z',
        input: { base: 2, tiers: [{ above: 999, price: 3 }] },
        output: 0,
      },
    ]);
    expect(await costOf({ model: 'ours-7b' })).toBeCloseTo(0.002, 12);
    expect(await costOf({ model: 'OUR_MODEL' })).toBeCloseTo(0.002, 12);
    expect(await costOf({ model: 'house/Our Model' })).toBeCloseTo(0.002, 12);
    expect(await costOf({ model: 'gpt-4.1-nano', created_at: '2026-02-01T00:00:00Z' })).toBeCloseTo(0.003, 12);
    expect(await costOf({ model: 'gpt-4.1-nano', created_at: '2025-12-31T00:00:00Z' })).toBeCloseTo(before, 12);
    await send('PATCH', `/spans/${stored}`, { span_id: stored, tags: ['seen'] });
    expect((await send('GET', `/spans/${stored}`)).metrics.cost).toBe(before);
    await price('house', []);
    expect(await costOf({ model: 'ours-7b' })).toBeUndefined();
  });

  test('are those of the integration that a call goes through', async () => {
    await space();
    await price('dear', [{ model: 'Our Model', input: 100, output: 100 }]);
    await price('cheap', [{ model: 'Our Model', input: 1, output: 1 }]);
    endpoint.otherwise(says('a'));
    const cost = async (modelAlias: string) => {
      const { experiment } = await runExperiment({
        ...{ client: service.client, projectId: project, experimentName: modelAlias, dataset: [{ input: 'q', output: 'a' }] },
        promptTemplate: '{{input}}',
        promptSettings: { modelAlias },
      });
      const [span] = await found('spans', { log_stream_id: undefined, experiment_id: experiment.id });
      return span.metrics.cost;
    };
    expect(await cost('dear/Our Model')).toBeCloseTo(15e-4, 12);
    expect(await cost('cheap/Our Model')).toBeCloseTo(15e-6, 12);
    expect(await costOf({ model: 'cheap/our model' })).toBeCloseTo(0.0011, 12);
    expect(await costOf({ model: 'our model' })).toBeCloseTo(0.11, 12);
  });
});

test('an experiment says what its calls cost and, apart from them, what its judges do', async () => {
  await space();
  endpoint.otherwise(says('{"explanation": "as asked", "verdict": true}'));
  const { experiment, progress } = await runExperiment({
    ...{ client: service.client, projectId: project, experimentName: 'judged' },
    dataset: ['one', 'two'].map((input) => ({ input, output: input })),
    promptTemplate: '{{input}}',
    promptSettings: { modelAlias: 'gpt-4o' },
    metrics: ['instruction_adherence'],
  });
  const ofCall = (8 * 2.5 + 4 * 1.25 + 3 * 10) / 1e6;
  const { usage } = await send('GET', `/experiments/${experiment.id}`);
  expect(usage.run).toEqual({
    ...{ num_input_tokens: 24, num_output_tokens: 6, num_total_tokens: 30 },
    ...{ cost: expect.closeTo(2 * ofCall, 12), num_spans_without_cost: 0 },
  });
  expect(usage.judges).toEqual({
    ...{ num_input_tokens: 24, num_output_tokens: 6, num_total_tokens: 30 },
    ...{ cost: expect.closeTo(2 * ofCall, 12), num_scores: 2, num_scores_without_cost: 0 },
  });
  expect(progress.usage.run).toEqual(usage.run);
  await expect.poll(async () => (await send('GET', `/experiments/${experiment.id}/progress`)).usage).toEqual(usage);
});

test('a summary says what the service called models for, and nothing of what was only logged', async () => {
  await space();
  endpoint.otherwise(says('{"explanation": "as asked", "verdict": true}'));
  const options = { client: service.client, projectId: project };
  await logSpans(llm());
  await runExperiment({
    ...{ ...options, experimentName: 'judged', promptTemplate: '{{input}}', promptSettings: { modelAlias: 'gpt-4o' } },
    dataset: ['one', 'two'].map((input) => ({ input, output: input })),
    metrics: ['instruction_adherence'],
  });
  for await (const _event of playgroundCall({ ...options, template: 'x', settings: { modelAlias: 'gpt-4o' } }));
  const ofCall = (8 * 2.5 + 4 * 1.25 + 3 * 10) / 1e6;
  const day = 24 * 60 * 60 * 1_000;
  const summary = async (interval: string, days = 1, from = Date.now() - day) => {
    const [start_time, end_time] = [from, from + (days + 1) * day].map((ms) => new Date(ms).toISOString());
    const query = new URLSearchParams({ start_time, end_time, interval } as Record<string, string>);
    return service.request('GET', `/integrations/costs/summary?${query}`);
  };
  const ofProject = async (...asked: Parameters<typeof summary>) => {
    const { features } = (await summary(...asked)).body as Json;
    return Object.fromEntries(
      features.flatMap(({ feature_name, projects }: Json) =>
        projects.filter((one: Json) => one.project_id === project).map((one: Json) => [feature_name, one]),
      ),
    );
  };
  const cost = (calls: number) => expect.closeTo(calls * ofCall, 12);
  for (const interval of ['hourly', 'daily', 'weekly', 'monthly']) {
    const { experiments, playground, metrics, ...others } = await ofProject(interval);
    expect(others).toEqual({});
    expect([experiments, playground, metrics]).toMatchObject([
      { total_cost: cost(2) },
      { total_cost: cost(1) },
      { total_cost: cost(2) },
    ]);
    const { data_points } = experiments;
    expect(data_points.reduce((sum: number, point: Json) => sum + point.cost, 0)).toBeCloseTo(2 * ofCall, 12);
    const start = new Date(data_points[0].timestamp);
    expect([start.getUTCMinutes(), start.getUTCSeconds()]).toEqual([0, 0]);
    if (interval !== 'hourly') expect(start.getUTCHours()).toBe(0);
    if (interval === 'weekly') expect(start.getUTCDay()).toBe(1);
    if (interval === 'monthly') expect(start.getUTCDate()).toBe(1);
  }
  expect(await ofProject('daily', 1, Date.now() - 10 * day)).toEqual({});
  expect((await summary('daily', -2)).status).toBe(422);
  expect((await summary('yearly')).status).toBe(422);
  expect((await service.request('GET', '/integrations/costs/summary')).status).toBe(422);
});
