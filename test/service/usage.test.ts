import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: records as they come over the wire
type Json = any;

interface Span {
  name: string;
  attributes: Record<string, string | number>;
  /** The name of its parent. */
  in?: string;
}

/** Spans of one trace, sent in requests of which each has some of them, to a log stream of its own. */
async function sent(stream: string, ...requests: Span[][]) {
  const ids = new Map(
    requests.flat().map(({ name }, index) => [name, `b7ad6b71692033${(index + 10).toString(16).padStart(2, '0')}`]),
  );
  for (const spans of requests) {
    const body = {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: spans.map(({ name, attributes, in: parent }) => ({
                traceId: '0af7651916cd43dd8448eb211c80319c',
                spanId: ids.get(name),
                ...(parent === undefined ? {} : { parentSpanId: ids.get(parent) }),
                name,
                startTimeUnixNano: '1770000000123456789',
                endTimeUnixNano: '1770000001123456789',
                attributes,
              })),
            },
          ],
        },
      ],
    };
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: stream });
    expect(answer).toMatchObject({ status: 200, body: {} });
  }
  const streams = (await service.request('GET', `/projects/${project.id}/log_streams`)).body as Json[];
  const log_stream_id = streams.find(({ name }) => name === stream)?.id;
  const found = async (kind: string, body: object = {}): Promise<Json[]> =>
    (
      (await service.request('POST', `/projects/${project.id}/${kind}/search`, { log_stream_id, limit: 100, ...body }))
        .body as Json
    ).records;
  const spans = new Map((await found('spans')).map((record) => [record.name, record]));
  return { log_stream_id, found, spans, trace: (await found('traces'))[0] as Json };
}

const chat = (input: number, output: number, more: Span['attributes'] = {}): Span['attributes'] => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'claude-sonnet-4-5',
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
});
const step = { 'openinference.span.kind': 'CHAIN' };
const agent = (attributes: Span['attributes'] = {}) => ({ 'openinference.span.kind': 'AGENT', ...attributes });
const COST = (1000 * 3 + 50 * 15) / 1e6;

describe('a model call within a model call', () => {
  const outer: Span = { name: 'outer', attributes: chat(1000, 50), in: 'root' };
  const between: Span = { name: 'between', attributes: step, in: 'outer' };
  const inner: Span = { name: 'inner', attributes: chat(1000, 50), in: 'between' };
  const root: Span = { name: 'root', attributes: agent({ 'session.id': 'visit' }) };

  test.each([
    ['in one request', [[root, outer, between, inner]]],
    ['the inner one first', [[inner], [between], [outer], [root]]],
    ['the outer one first', [[root], [outer], [between], [inner]]],
    ['what joins them last', [[outer, inner], [root], [between]]],
  ])('counts once: %s', async (order, requests) => {
    const { trace, spans, found, log_stream_id } = await sent(`nested, ${order}`, ...requests);
    const once = { num_input_tokens: 1000, num_output_tokens: 50, num_total_tokens: 1050, num_spans_without_cost: 0 };
    expect(trace.metrics).toMatchObject({ ...once, cost: expect.closeTo(COST, 12) });
    expect(spans.get('outer')).toMatchObject({ metrics: { num_input_tokens: 1000 }, counted_usage: 'all' });
    expect(spans.get('inner')).toMatchObject({ metrics: { num_input_tokens: 1000 }, counted_usage: 'none' });
    expect(spans.get('inner').metrics.cost).toBeCloseTo(COST, 12);
    const [session] = await found('sessions');
    expect(session.metrics).toMatchObject({ ...once, cost: expect.closeTo(COST, 12) });
    const more = { type: 'number', column_id: 'metrics/num_input_tokens', operator: 'gt', value: 1000 };
    expect(await found('traces', { filters: [more] })).toEqual([]);
    const range = { start_time: '2026-02-01T00:00:00Z', end_time: '2026-02-03T00:00:00Z', interval: 1440 };
    const path = `/projects/${project.id}/metrics/search`;
    const overTime = (await service.request('POST', path, { log_stream_id, ...range })).body as Json;
    expect(overTime.aggregate_metrics).toMatchObject({ num_input_tokens: 1000, cost: expect.closeTo(COST, 12) });
  });

  test('counts where the outer one says nothing', async () => {
    const wrapper = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'claude-sonnet-4-5' };
    const { trace, spans } = await sent('silent wrapper', [{ ...inner, in: 'outer' }], [{ name: 'outer', attributes: wrapper }]);
    expect(trace.metrics).toMatchObject({ num_input_tokens: 1000, cost: expect.closeTo(COST, 12), num_spans_without_cost: 0 });
    expect(spans.get('outer').counted_usage).toBe('none');
    expect(spans.get('inner').counted_usage).toBe('all');
  });

  test('counts beside it where a tool made it', async () => {
    const tool: Span = { name: 'between', attributes: { 'openinference.span.kind': 'TOOL' }, in: 'outer' };
    const { trace } = await sent('through a tool', [root, outer, tool, inner]);
    expect(trace.metrics).toMatchObject({ num_input_tokens: 2000, cost: expect.closeTo(2 * COST, 12) });
  });

  test('as records of the interface: follows repeats, updates and deletions', async () => {
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'nested records' });
    const log_stream_id = (stream as Json).id;
    const at = (path: string) => `/projects/${project.id}${path}`;
    const [trace, outerId, innerId] = [newId(), newId(), newId()];
    const llm = (id: string, metrics: object, spans: object[] = []) => ({
      type: 'llm',
      id,
      input: 'q',
      output: 'a',
      model: 'm',
      metrics,
      spans,
    });
    const sums = async () => {
      const { metrics } = (await service.request('GET', `${at(`/traces/${trace}`)}?log_stream_id=${log_stream_id}`)).body as Json;
      return [metrics.num_total_tokens, metrics.cost];
    };
    const post = async (path: string, body: object) => {
      const answer = await service.request('POST', at(path), { log_stream_id, ...body });
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
    };
    await post('/traces', {
      traces: [{ id: trace, input: 'q', spans: [llm(outerId, {}, [llm(innerId, { num_total_tokens: 5, cost: 1 })])] }],
    });
    expect(await sums()).toEqual([5, 1]);
    const update = await service.request('PATCH', at(`/spans/${outerId}`), {
      log_stream_id,
      span_id: outerId,
      metrics: { cost: 3 },
    });
    expect(update).toMatchObject({ status: 200 });
    expect(await sums()).toEqual([5, 3]);
    await post('/spans', { trace_id: trace, parent_id: trace, spans: [llm(outerId, { num_total_tokens: 7 })] });
    expect(await sums()).toEqual([7, 3]);
    // Logged again below the trace itself, the inner one is a call of its own.
    await post('/spans', { trace_id: trace, parent_id: trace, spans: [llm(innerId, { num_total_tokens: 5, cost: 1 })] });
    expect(await sums()).toEqual([12, 4]);
    await post('/spans', { trace_id: trace, parent_id: outerId, spans: [llm(innerId, { num_total_tokens: 5, cost: 1 })] });
    expect(await sums()).toEqual([7, 3]);
    const other = newId();
    await post('/spans', { trace_id: other, parent_id: other, spans: [llm(outerId, { num_total_tokens: 7 })] });
    expect(await sums()).toEqual([5, 1]);
    await post('/spans', { trace_id: trace, parent_id: trace, spans: [llm(outerId, { num_total_tokens: 7 })] });
    expect(await sums()).toEqual([7, 3]);
  });

  test('counts when the outer one is deleted without it', async () => {
    // A span that names a parent which comes later is below it as soon as that is there; what is deleted takes what is below it along.
    const { spans, found, log_stream_id } = await sent('deleted wrapper', [
      root,
      { name: 'sum', attributes: agent({ 'llm.token_count.total': 9 }), in: 'root' },
      { ...outer, in: 'sum' },
    ]);
    expect((await found('traces'))[0].metrics).toMatchObject({ num_total_tokens: 1050 });
    const byId = [{ type: 'id', column_id: 'id', operator: 'eq', value: spans.get('outer').id }];
    await service.request('POST', `/projects/${project.id}/spans/delete`, { log_stream_id, filters: byId });
    expect((await found('traces'))[0].metrics).toMatchObject({ num_total_tokens: 9 });
  });
});

describe('usage of other spans', () => {
  const usage = { 'llm.token_count.prompt': 1000, 'llm.token_count.completion': 50, 'llm.model_name': 'claude-sonnet-4-5' };

  test('an agent alone has the usage that it says, at its cost or its price', async () => {
    const billed = await sent('agent with a bill', [{ name: 'a', attributes: agent({ ...usage, 'llm.cost.total': 0.25 }) }]);
    expect(billed.trace.metrics).toMatchObject({ cost: 0.25, num_total_tokens: 1050, num_spans_without_cost: 0 });
    expect(billed.spans.get('a')).toMatchObject({ cost_source: 'logged', counted_usage: 'all', type: 'agent' });
    const priced = await sent('agent with a price', [{ name: 'a', attributes: agent(usage) }]);
    expect(priced.trace.metrics).toMatchObject({ cost: expect.closeTo(COST, 12), num_total_tokens: 1050 });
    expect(priced.spans.get('a')).toMatchObject({
      cost_source: 'price',
      user_metadata: { 'llm.model_name': 'claude-sonnet-4-5' },
    });
  });

  test('an agent whose calls say their usage does not count, whichever comes first', async () => {
    const sum: Span = { name: 'a', attributes: agent({ ...usage, 'llm.cost.total': 0.25 }) };
    const call: Span = { name: 'b', attributes: chat(10, 1), in: 'a' };
    for (const requests of [[[sum], [call]], [[call], [sum]], [[sum, call]]]) {
      const { trace, spans } = await sent(
        `agent and call ${requests.flat().map(({ name }) => name)} ${requests.length}`,
        ...requests,
      );
      expect(trace.metrics).toMatchObject({ num_total_tokens: 11, num_spans_without_cost: 0 });
      expect(spans.get('a')).toMatchObject({ counted_usage: 'none', metrics: { num_total_tokens: 1050, cost: 0.25 } });
    }
  });

  test('an embedding costs its price', async () => {
    const attributes = {
      'openinference.span.kind': 'EMBEDDING',
      'embedding.model_name': 'text-embedding-3-small',
      'llm.token_count.prompt': 1_000_000,
      'llm.token_count.total': 1_000_000,
    };
    const { spans, trace } = await sent('embedding', [{ name: 'embed', attributes }]);
    expect(spans.get('embed')).toMatchObject({ type: 'workflow', metrics: { cost: 0.02 }, cost_source: 'price' });
    expect(trace.metrics).toMatchObject({ cost: 0.02, num_total_tokens: 1_000_000 });
    const ofOpenTelemetry = {
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.request.model': 'text-embedding-3-small',
      'gen_ai.usage.total_tokens': 1_000_000,
    };
    expect((await sent('embedding, total alone', [{ name: 'embed', attributes: ofOpenTelemetry }])).trace.metrics.cost).toBe(
      0.02,
    );
  });
});

describe('usage in the names of libraries, priced', () => {
  const CACHED = (100 * 3 + 800 * 0.3 + 100 * 3.75 + 50 * 15) / 1e6;
  const inAnthropic = { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.response.model': 'claude-sonnet-4-5' };
  const inGoogle = { ...inAnthropic, 'ai.response.model': 'gemini-2.5-flash' };
  test.each<[string, Span['attributes'], Record<string, number>]>([
    [
      'a cache that was written',
      chat(1000, 50, { 'gen_ai.usage.cache_read.input_tokens': 800, 'gen_ai.usage.cache_write.input_tokens': 100 }),
      { num_input_tokens: 1000, num_cache_write_input_tokens: 100, cost: CACHED },
    ],
    [
      'a cache beside the input',
      chat(100, 50, { 'gen_ai.usage.cache_read_input_tokens': 800, 'gen_ai.usage.cache_write_input_tokens': 100 }),
      { num_input_tokens: 1000, num_cache_write_input_tokens: 100, cost: CACHED },
    ],
    ['a cost', chat(100_000, 1000, { 'gen_ai.request.model': 'house-model', 'operation.cost': 0.36 }), { cost: 0.36 }],
    [
      'reasoning beside the output',
      chat(1000, 20, {
        'gen_ai.request.model': 'gemini-2.5-flash',
        'gen_ai.usage.reasoning.output_tokens': 30,
        'gen_ai.usage.total_tokens': 1050,
      }),
      { num_output_tokens: 50, num_total_tokens: 1050, cost: 0.000425 },
    ],
    [
      'the AI SDK 5 with Anthropic',
      {
        ...inAnthropic,
        'ai.usage.promptTokens': 100,
        'ai.usage.completionTokens': 50,
        'ai.response.providerMetadata':
          '{"anthropic":{"usage":{"cache_creation_input_tokens":100,"cache_read_input_tokens":800}}}',
      },
      { num_input_tokens: 1000, cost: CACHED },
    ],
    [
      'the AI SDK 5 with Google',
      {
        ...inGoogle,
        'ai.usage.promptTokens': 1000,
        'ai.usage.completionTokens': 20,
        'ai.response.providerMetadata':
          '{"google":{"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":800,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1050}}}',
      },
      { num_output_tokens: 50, cost: 0.000209 },
    ],
  ])('%s', async (name, attributes, { cost, ...counts }) => {
    const { spans, trace } = await sent(name, [{ name: 'call', attributes }]);
    expect(spans.get('call').metrics).toMatchObject({ ...counts, cost: expect.closeTo(cost as number, 9) });
    expect(trace.metrics).toMatchObject({ ...counts, cost: expect.closeTo(cost as number, 9) });
  });
});
