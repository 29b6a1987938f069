import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Attributes, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { otlpJson, pairs } from '../support/otlpJson.ts';
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

/** The SDK and the exporter that an application has. */
function instrumented(headers: Record<string, string>, compression: 'gzip' | 'none' = 'none') {
  const exporter = new OTLPTraceExporter({
    url: `${service.url}/otel/traces`,
    headers: { 'Service-API-Key': service.apiKey, ...headers },
    compression: compression as never,
  });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  return { provider, tracer: provider.getTracer('story') };
}

async function streamId(name: string): Promise<string> {
  const { body } = await service.request('GET', `/projects/${project.id}/log_streams`);
  return (body as Json[]).find((stream) => stream.name === name)?.id;
}

async function search(what: 'traces' | 'spans' | 'sessions', stream: string): Promise<Json[]> {
  const answer = await service.request('POST', `/projects/${project.id}/${what}/search`, {
    log_stream_id: await streamId(stream),
    limit: 100,
  });
  expect(answer.status).toBe(200);
  return (answer.body as Json).records;
}

const unknownId = '0b5c1a0e-7a53-4c3e-9d54-1f5b9d1f2a11';

/** One span in a log stream of its own, as it is stored. */
async function stored(stream: string, attributes: Record<string, string | number>, more: object = {}): Promise<Json> {
  const answer = await service.request('POST', '/v1/traces', otlpJson(attributes, more), {
    project: project.name,
    logstream: stream,
  });
  expect(answer).toMatchObject({ status: 200, body: {} });
  return (await search('spans', stream))[0];
}

describe('an application with the OpenTelemetry SDK', () => {
  test('logs an agent that calls a model and a tool; the log stream opens by itself', async () => {
    const { provider, tracer } = instrumented({ project: project.name, logstream: 'agents' }, 'gzip');
    const start = (name: string, attributes: Attributes, parent?: ReturnType<typeof tracer.startSpan>) =>
      tracer.startSpan(name, { attributes }, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT);
    const agent = start('invoke_agent Guide', {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Guide',
      'gen_ai.conversation.id': 'talk 7',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Weather in Oslo?' }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Rain.' }] }]),
    });
    const chat = start(
      'chat gpt-4o',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.response.model': 'gpt-4o-2024-08-06',
        'gen_ai.request.temperature': 0.2,
        'gen_ai.request.max_tokens': 50,
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.cache_read.input_tokens': 60,
        'gen_ai.usage.output_tokens': 20,
        'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: 'Be brief.' }]),
        'gen_ai.input.messages': JSON.stringify([
          { role: 'user', parts: [{ type: 'text', content: 'Weather in Oslo?' }] },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c0', response: { ok: true } }] },
        ]),
        'gen_ai.output.messages': JSON.stringify([
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', content: 'I need the forecast.' },
              { type: 'tool_call', id: 'c1', name: 'forecast', arguments: { city: 'Oslo' } },
            ],
            finish_reason: 'tool_call',
          },
        ]),
      },
      agent,
    );
    chat.end();
    const tool = start(
      'execute_tool forecast',
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'forecast',
        'gen_ai.tool.call.id': 'c1',
        'gen_ai.tool.call.arguments': '{"city":"Oslo"}',
      },
      agent,
    );
    tool.recordException(new TypeError('no such city'));
    tool.setStatus({ code: SpanStatusCode.ERROR });
    tool.end();
    agent.end();
    await provider.forceFlush();
    await provider.shutdown();

    const [session] = await search('sessions', 'agents');
    expect(session).toMatchObject({ external_id: 'talk 7' });
    const [found, ...others] = await search('traces', 'agents');
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      name: 'invoke_agent Guide',
      input: 'Weather in Oslo?',
      output: 'Rain.',
      external_id: agent.spanContext().traceId,
      session_id: session.id,
      is_complete: true,
      status_code: 200,
    });
    const { body } = await service.request('GET', `/projects/${project.id}/traces/${found.id}`);
    const [root] = (body as Json).spans;
    expect(root).toMatchObject({ type: 'agent', agent_name: 'Guide', parent_id: found.id, session_id: session.id });
    expect(root.metrics).toEqual({ duration_ns: expect.any(Number), num_input_tokens: 100, num_total_tokens: 100 });
    const [call, use] = ['llm', 'tool'].map((type) => root.spans.find((span: Json) => span.type === type));
    expect(root.spans).toHaveLength(2);
    expect(call).toMatchObject({
      type: 'llm',
      model: 'gpt-4o-2024-08-06',
      temperature: 0.2,
      finish_reason: 'tool_calls',
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Oslo?' },
        { role: 'tool', content: '{"ok":true}', tool_call_id: 'c0' },
      ],
      output: {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', function: { name: 'forecast', arguments: '{"city":"Oslo"}' } }],
      },
      events: [{ type: 'reasoning', content: 'I need the forecast.' }],
      user_metadata: { 'gen_ai.request.max_tokens': '50', 'gen_ai.provider.name': 'openai', 'otel.scope.name': 'story' },
    });
    expect(call.metrics).toMatchObject({
      num_input_tokens: 100,
      num_output_tokens: 20,
      num_total_tokens: 120,
      num_cached_input_tokens: 60,
      cost: expect.closeTo((40 * 2.5 + 60 * 1.25 + 20 * 10) / 1e6, 12),
    });
    expect(use).toMatchObject({
      type: 'tool',
      name: 'execute_tool forecast',
      user_metadata: { 'gen_ai.tool.name': 'forecast' },
      tool_call_id: 'c1',
      input: '{"city":"Oslo"}',
      status_code: 500,
      error_message: 'TypeError: no such city',
    });
  });

  test('an exporter with the path of a base address, and an experiment as its target', async () => {
    const made = await service.request('POST', `/projects/${project.id}/experiments`, { name: 'otel' });
    const experiment = (made.body as Json).id;
    const exporter = new OTLPTraceExporter({
      url: `${service.url}/otel/v1/traces`,
      headers: { 'Service-API-Key': service.apiKey, project: project.id, experimentid: experiment },
    });
    const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
    provider.getTracer('story').startSpan('step').end();
    await provider.forceFlush();
    await provider.shutdown();
    const found = await service.request('POST', `/projects/${project.id}/traces/search`, { experiment_id: experiment });
    expect((found.body as Json).records).toMatchObject([{ name: 'step' }]);
  });
});

describe('other forms of the conventions', () => {
  test('OpenInference: a model call whose tokens of the cache lie beside the input', async () => {
    const span = await stored('inference', {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'claude-opus-4-5',
      'llm.invocation_parameters': '{"temperature":0.5,"top_p":1}',
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.contents.0.message_content.type': 'text',
      'llm.input_messages.0.message.contents.0.message_content.text': 'What is this?',
      'llm.input_messages.0.message.contents.1.message_content.type': 'image',
      'llm.input_messages.0.message.contents.1.message_content.image.image.url': 'data:image/png;base64,AAAA',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'A pixel.',
      'llm.token_count.prompt': 10,
      'llm.token_count.completion': 5,
      'llm.token_count.prompt_details.cache_read': 30,
      metadata: '{"team":"vision","n":3}',
      'tag.tags': '["a","b"]',
      'user.id': 'u1',
    });
    expect(span).toMatchObject({
      type: 'llm',
      model: 'claude-opus-4-5',
      temperature: 0.5,
      tags: ['a', 'b'],
      user_metadata: { team: 'vision', n: '3', 'user.id': 'u1' },
      input: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'text', text: 'data:image/png;base64,AAAA' },
          ],
        },
      ],
      output: { role: 'assistant', content: 'A pixel.' },
      metrics: { num_input_tokens: 40, num_output_tokens: 5, num_total_tokens: 45 },
    });
    expect(span.metrics.cost).toBeCloseTo((10 * 5 + 30 * 0.5 + 5 * 25) / 1e6, 12);
  });

  test('a failure keeps all that is known of it, and ends with a success', async () => {
    const exception = (values: Record<string, string>) => ({
      name: 'exception',
      timeUnixNano: '1770000000223456789',
      attributes: pairs(values),
    });
    const span = await stored(
      'failure',
      {},
      {
        status: { code: 2, message: 'gave up' },
        events: [
          exception({ 'exception.type': 'A', 'exception.message': 'first' }),
          exception({ 'exception.type': 'B', 'exception.message': 'second', 'exception.stacktrace': 'at main' }),
        ],
      },
    );
    expect(span).toMatchObject({
      status_code: 500,
      error_message: 'B: second',
      user_metadata: {
        'exception.stacktrace': 'at main',
        'otel.status_description': 'gave up',
        'otel.events': expect.stringContaining('first'),
      },
    });
    expect(await stored('failure', {}, { status: { code: 1 } })).toMatchObject({ status_code: 200, error_message: '' });
  });
});

describe('spans out of order', () => {
  const child = { spanId: '00f067aa0ba902b7', parentSpanId: 'b7ad6b7169203331', name: 'child' };
  const headers = () => ({ project: project.name, logstream: 'late' });

  test('a span before its root is in a stub trace, which the root completes', async () => {
    await service.request('POST', '/v1/traces', otlpJson({}, child), headers());
    expect(await search('traces', 'late')).toEqual([]);
    const [span] = await search('spans', 'late');
    const stub = await service.request('GET', `/projects/${project.id}/traces/${span.trace_id}`);
    expect(stub.body).toMatchObject({ type: 'stub_trace', spans: [{ name: 'child' }] });

    await service.request('POST', '/v1/traces', otlpJson({}), headers());
    const whole = await service.request('GET', `/projects/${project.id}/traces/${span.trace_id}`);
    expect(whole.body).toMatchObject({ type: 'trace', is_complete: true, spans: [{ name: 'chat', spans: [{ name: 'child' }] }] });
  });

  test('what is below a call of a model stands behind it in the tree, with and without the root', async () => {
    const streams = { ...headers(), logstream: 'below a call' };
    const [root, first, second, tool] = ['00f067aa0ba90201', '00f067aa0ba90202', '00f067aa0ba90203', '00f067aa0ba90204'];
    const traceId = '0af7651916cd43dd8448eb211c803200';
    const at = (second: number) => ({
      traceId,
      startTimeUnixNano: String(1_770_000_000_000_000_000n + BigInt(second) * 1_000_000_000n),
    });
    const call = { 'gen_ai.operation.name': 'chat' };
    const post = (attributes: Record<string, string>, more: object) =>
      service.request('POST', '/v1/traces', otlpJson(attributes, more), streams);
    await post(call, { ...at(3), spanId: second, parentSpanId: root, name: 'second' });
    await post({ 'gen_ai.operation.name': 'execute_tool' }, { ...at(2), spanId: tool, parentSpanId: first, name: 'tool' });
    await post(call, { ...at(1), spanId: first, parentSpanId: root, name: 'first' });
    const [span] = await search('spans', 'below a call');
    const names = async () => {
      const { body } = await service.request('GET', `/projects/${project.id}/traces/${span.trace_id}`);
      const below = (body as Json).is_complete ? (body as Json).spans[0].spans : (body as Json).spans;
      return below.map(({ name }: Json) => name);
    };
    expect(await names()).toEqual(['first', 'tool', 'second']);
    await post({}, { ...at(0), spanId: root, name: 'root' });
    expect(await names()).toEqual(['first', 'tool', 'second']);
  });

  describe('a trace whose spans name several conversations', () => {
    const root = '00f067aa0ba90301';
    const names = ['first talk', 'second talk', undefined, 'talk of the root'];
    const spans = names.map((talk, index) => ({
      talk,
      fields: {
        ...{ spanId: `00f067aa0ba9030${index === 3 ? 1 : index + 2}`, name: `span ${index}` },
        ...(index === 3 ? {} : { parentSpanId: root }),
        startTimeUnixNano: String(1_770_000_000_000_000_000n + BigInt(index === 3 ? 0 : index + 1) * 1_000_000_000n),
      },
    }));
    const traceOf = (name: string) => ({ traceId: Buffer.from(name.padEnd(16, '-')).subarray(0, 16).toString('hex') });
    const post = (stream: string, index: number, talk = spans[index]?.talk) =>
      service.request(
        'POST',
        '/v1/traces',
        otlpJson(talk === undefined ? {} : { 'gen_ai.conversation.id': talk }, { ...spans[index]?.fields, ...traceOf(stream) }),
        { ...headers(), logstream: stream },
      );
    const sessionsOf = async (stream: string) => (await search('sessions', stream)).map(({ external_id }) => external_id);
    /** The one session, which has all spans and the trace. */
    const only = async (stream: string, talk: string) => {
      await expect.poll(() => sessionsOf(stream)).toEqual([talk]);
      const [session] = await search('sessions', stream);
      const records = [...(await search('spans', stream)), ...(await search('traces', stream))];
      expect(new Set(records.map(({ session_id }) => session_id))).toEqual(new Set([session.id]));
      return records.length;
    };

    test('is in that of its root, whenever that comes, and the others are not left empty', async () => {
      for (const index of [0, 1, 2, 3]) await post('root last', index);
      expect(await only('root last', 'talk of the root')).toBe(5);
      for (const index of [3, 1, 0, 2]) await post('root first', index);
      expect(await only('root first', 'talk of the root')).toBe(5);
      for (const index of [0, 3, 0, 1]) await post('again', index);
      expect(await only('again', 'talk of the root')).toBe(4);
    });

    test('stays in the first that is named where the root names none', async () => {
      for (const index of [1, 0, 2]) await post('no root yet', index);
      expect(await only('no root yet', 'second talk')).toBe(3);
      await post('no root yet', 3, '');
      expect(await only('no root yet', 'second talk')).toBe(5);
    });

    test('leaves a session that has other traces, or that a caller opened', async () => {
      const at = { 'gen_ai.conversation.id': 'first talk' };
      await service.request('POST', '/v1/traces', otlpJson(at), { ...headers(), logstream: 'shared talk' });
      for (const index of [0, 3]) await post('shared talk', index);
      expect((await sessionsOf('shared talk')).sort()).toEqual(['first talk', 'talk of the root']);

      const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'named' });
      const opened = { log_stream_id: (body as Json).id, external_id: 'first talk' };
      await service.request('POST', `/projects/${project.id}/sessions`, opened);
      for (const index of [0, 3]) await post('named', index);
      expect((await sessionsOf('named')).sort()).toEqual(['first talk', 'talk of the root']);
    });

    test('leaves a session that a caller opened after a span had', async () => {
      await post('opened later', 0);
      const { body } = await service.request('GET', `/projects/${project.id}/log_streams`);
      const stream = (body as Json[]).find(({ name }) => name === 'opened later');
      await service.request('POST', `/projects/${project.id}/sessions`, {
        log_stream_id: stream?.id,
        external_id: 'first talk',
      });
      await post('opened later', 3);
      expect((await sessionsOf('opened later')).sort()).toEqual(['first talk', 'talk of the root']);
    });
  });

  test('a span whose parent is in another process has a trace that can be found', async () => {
    const remote = { parentSpanId: '00f067aa0ba902b9', flags: 0x300, name: 'served' };
    await service.request('POST', '/v1/traces', otlpJson({}, remote), { ...headers(), logstream: 'served' });
    expect(await search('traces', 'served')).toMatchObject([{ name: 'served', is_complete: false }]);
  });
});

describe('a trace whose root is missing', () => {
  const AGENT = { 'openinference.span.kind': 'AGENT' };
  /** Spans of one trace: seconds from its start to their begin and end. */
  const send = async (stream: string, ...spans: { id: number; in?: number; from: number; to: number; attributes?: object }[]) => {
    const body = {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: spans.map(({ id, in: parent, from, to, attributes = AGENT }) => ({
                traceId: '0af7651916cd43dd8448eb211c80319c',
                spanId: `00f067aa0ba902b${id}`,
                ...(parent === undefined ? {} : { parentSpanId: `00f067aa0ba902b${parent}`, flags: 257 }),
                name: `span ${id}`,
                startTimeUnixNano: `${1_770_000_000 + from}000000000`,
                endTimeUnixNano: `${1_770_000_000 + to}000000000`,
                attributes,
              })),
            },
          ],
        },
      ],
    };
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: stream });
    expect(answer).toMatchObject({ status: 200, body: {} });
    return (await search('traces', stream))[0];
  };
  const said = (input: string, output: string) => ({ ...AGENT, 'input.value': input, 'output.value': output });

  test('is opened by its highest span, with the output of the last one beside it', async () => {
    const trace = await send(
      'filtered',
      { id: 3, in: 2, from: 2, to: 3, attributes: said('step', 'done') },
      { id: 2, in: 0, from: 1, to: 4, attributes: { ...said('q', 'a'), own: 'x' } },
      { id: 4, in: 0, from: 5, to: 6, attributes: said('second', 'last') },
    );
    const from = { 'otel.opened_by_span_id': '00f067aa0ba902b2', 'otel.output_span_id': '00f067aa0ba902b4' };
    const user_metadata = { own: 'x', ...from };
    expect(trace).toMatchObject({ name: 'span 2', input: 'q', output: 'last', is_complete: false, user_metadata });
    expect(trace.created_at).toBe('2026-02-02T02:40:01.000000Z');
  });

  test('gives way to spans around it, and to its root, and loses nothing that was added to it', async () => {
    const stream = 'filtered for now';
    const first = await send(stream, { id: 3, in: 2, from: 2, to: 3, attributes: { ...said('step', 'done'), step: 'x' } });
    expect(first).toMatchObject({ name: 'span 3', input: 'step' });
    const log_stream_id = await streamId(stream);
    const path = `/projects/${project.id}/traces/${first.id}`;
    const update = { log_stream_id, trace_id: first.id, tags: ['seen'], metrics: { mine: 0.5 } };
    expect(await service.request('PATCH', path, update)).toMatchObject({ status: 200 });
    const second = await send(stream, { id: 2, in: 1, from: 1, to: 4, attributes: said('q', 'a') });
    expect(second).toMatchObject({ id: first.id, name: 'span 2', input: 'q', output: 'a', is_complete: false, tags: ['seen'] });
    const third = await send(stream, { id: 5, in: 1, from: 6, to: 7, attributes: said('more', 'last') });
    expect(third).toMatchObject({ name: 'span 2', input: 'q', output: 'last' });
    const root = await send(stream, { id: 1, from: 0, to: 9, attributes: { own: 'y' } });
    expect(root).toMatchObject({
      id: first.id,
      name: 'span 1',
      is_complete: true,
      input: 'q',
      output: 'last',
      tags: ['seen'],
    });
    expect(root.metrics).toMatchObject({ duration_ns: 9_000_000_000, mine: 0.5 });
    const from = { 'otel.input_span_id': '00f067aa0ba902b2', 'otel.output_span_id': '00f067aa0ba902b5' };
    expect(root.user_metadata).toEqual({ own: 'y', ...from });
    expect(await send(stream, { id: 6, in: 1, from: 2, to: 3, attributes: said('late', 'later') })).toMatchObject({
      input: 'q',
      output: 'last',
    });
  });

  test('stays a stub as long as nothing of generative AI is in it', async () => {
    expect(await send('plain spans', { id: 2, in: 1, from: 1, to: 4, attributes: { 'db.system': 'sqlite' } })).toBeUndefined();
    expect(await send('plain spans', { id: 3, in: 1, from: 5, to: 6 })).toMatchObject({ name: 'span 3' });
  });

  test.each(['together', 'the root last', 'the root first'])(
    'a root without input and output has those of its steps: %s',
    async (order) => {
      const root = { id: 1, from: 0, to: 9, attributes: { 'traceloop.span.kind': 'workflow' } };
      const steps = [
        { id: 2, in: 1, from: 1, to: 2, attributes: AGENT },
        { id: 3, in: 1, from: 3, to: 4, attributes: said('first', 'one') },
        { id: 4, in: 1, from: 5, to: 6, attributes: said('second', 'two') },
        { id: 5, in: 4, from: 5, to: 6, attributes: said('inner', 'in the middle') },
      ];
      const stream = `steps, ${order}`;
      const batches = order === 'together' ? [[root, ...steps]] : order === 'the root last' ? [steps, [root]] : [[root], steps];
      for (const batch of batches) await send(stream, ...batch);
      const [trace] = await search('traces', stream);
      const user_metadata = { 'otel.input_span_id': '00f067aa0ba902b3', 'otel.output_span_id': '00f067aa0ba902b4' };
      expect(trace).toMatchObject({ name: 'span 1', is_complete: true, input: 'first', output: 'two', user_metadata });
    },
  );

  test.each(['one by one', 'the last one first', 'together'])(
    'a root without input and output has those of steps that came before it and name no model: %s',
    async (order) => {
      const step = (id: number, input: string, output: string) => {
        const attributes = { 'traceloop.span.kind': 'task', 'traceloop.entity.input': input, 'traceloop.entity.output': output };
        return { id, in: 1, from: id, to: id + 0.5, attributes };
      };
      const steps = [step(2, 'first', 'one'), step(3, 'second', 'two'), step(4, 'third', 'three')];
      const stream = `plain steps, ${order}`;
      if (order === 'together') await send(stream, ...steps);
      else for (const one of order === 'one by one' ? steps : steps.toReversed()) await send(stream, one);
      const trace = await send(stream, { id: 1, from: 0, to: 9, attributes: { 'traceloop.span.kind': 'workflow' } });
      const user_metadata = { 'otel.input_span_id': '00f067aa0ba902b2', 'otel.output_span_id': '00f067aa0ba902b4' };
      expect(trace).toMatchObject({ name: 'span 1', is_complete: true, input: 'first', output: 'three', user_metadata });
    },
  );

  test('of spans beside each other in one batch the last one gives the output', async () => {
    const spans = [2, 3].map((id) => ({ id, in: 1, from: id, to: id + 1, attributes: said(`in ${id}`, `out ${id}`) }));
    const trace = await send('beside each other', ...spans);
    expect(trace).toMatchObject({ name: 'span 2', input: 'in 2', output: 'out 3', metrics: { duration_ns: 2_000_000_000 } });
  });
});

describe('the request', () => {
  test('names its target by resource attributes too, and has a default', async () => {
    const named = otlpJson({}, {}, { 'assay.project': project.name, 'assay.log_stream': 'by resource' });
    expect((await service.request('POST', '/v1/traces', named)).status).toBe(200);
    expect(await search('traces', 'by resource')).toHaveLength(1);
    expect((await service.request('POST', '/v1/traces', otlpJson({}), { project: project.id })).status).toBe(200);
    expect(await search('traces', 'default')).toHaveLength(1);
  });

  test.each([
    ['project.name', 'logstream.name'],
    ['project.name', 'log_stream.name'],
    ['project.id', 'logstream.id'],
    ['project.id', 'log_stream.id'],
  ])('names its target by %s and %s of a resource, whatever their prefix; headers win', async (projectKey, streamKey) => {
    const named = `stream by ${projectKey} and ${streamKey}`;
    const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: named });
    const byId = streamKey.endsWith('id');
    const resource = {
      'service.name': 'shop',
      [`some_sdk.${projectKey}`]: projectKey.endsWith('id') ? project.id : project.name,
      [`other.sdk.${streamKey}`]: byId ? (body as Json).id : named,
    };
    expect((await service.request('POST', '/v1/traces', otlpJson({}, {}, resource))).status).toBe(200);
    expect(await search('traces', named)).toHaveLength(1);

    const unknown = { ...resource, [`some_sdk.${projectKey}`]: unknownId };
    expect((await service.request('POST', '/v1/traces', otlpJson({}, {}, unknown))).status).toBe(404);
    const headers = { project: project.name, logstream: `${named}, by header` };
    expect((await service.request('POST', '/v1/traces', otlpJson({}, {}, unknown), headers)).status).toBe(200);
    expect(await search('traces', headers.logstream)).toHaveLength(1);
    expect(await search('traces', named)).toHaveLength(1);
  });

  test('names an experiment by a resource attribute too, which wins over a log stream', async () => {
    const made = await service.request('POST', `/projects/${project.id}/experiments`, { name: 'by resource' });
    const experiment_id = (made.body as Json).id;
    const resource = { 'sdk.project.name': project.name, 'sdk.experiment.id': experiment_id, 'sdk.logstream.name': 'hidden' };
    expect((await service.request('POST', '/v1/traces', otlpJson({}, {}, resource))).status).toBe(200);
    const found = await service.request('POST', `/projects/${project.id}/traces/search`, { experiment_id });
    expect((found.body as Json).records).toHaveLength(1);
    expect(await streamId('hidden')).toBeUndefined();
  });

  test('is refused where its target is unknown, and without credentials', async () => {
    const unknown = await service.request('POST', '/v1/traces', otlpJson({}), { project: unknownId });
    expect(unknown).toMatchObject({ status: 404, body: { detail: 'no such project' } });
    const none = await service.request('POST', '/v1/traces', otlpJson({}));
    expect(none.status).toBe(404);
    const stranger = await service.request('POST', '/v1/traces', otlpJson({}), { 'Service-API-Key': 'wrong' });
    expect(stranger.status).toBe(401);
  });

  test('needs a key that may log; a key of one project needs to name none', async () => {
    const key = async (project_role: string) => {
      const { body } = await service.request('POST', '/users/api_keys', {
        description: 'k',
        project_id: project.id,
        project_role,
      });
      return { 'Service-API-Key': (body as Json).api_key as string, logstream: project_role };
    };
    expect((await service.request('POST', '/v1/traces', otlpJson({}), await key('viewer'))).status).toBe(403);
    expect(await streamId('viewer')).toBeUndefined();
    expect((await service.request('POST', '/v1/traces', otlpJson({}), await key('editor'))).status).toBe(200);
    expect(await search('traces', 'editor')).toHaveLength(1);
    const elsewhere = { ...(await key('editor')), project: (await service.project()).name };
    expect((await service.request('POST', '/v1/traces', otlpJson({}), elsewhere)).status).toBe(404);
  });

  test('opens a log stream anew that was deleted, and the same spans are stored there', async () => {
    const headers = { project: project.name, logstream: 'again' };
    await service.request('POST', '/v1/traces', otlpJson({}), headers);
    const before = await streamId('again');
    expect((await service.request('DELETE', `/projects/${project.id}/log_streams/${before}`)).status).toBe(204);
    expect((await service.request('POST', '/v1/traces', otlpJson({}), headers)).status).toBe(200);
    expect(await streamId('again')).not.toBe(before);
    expect(await search('traces', 'again')).toHaveLength(1);
  });

  test('twenty exports at once open one log stream', async () => {
    const headers = { project: project.name, logstream: 'at once' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        service.request('POST', '/v1/traces', otlpJson({}, { spanId: (index + 1).toString(16).padStart(16, '0') }), headers),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await search('spans', 'at once')).toHaveLength(20);
    expect(await search('traces', 'at once')).toHaveLength(1);
  });

  test('a resource of any size takes its part of each span, and no place of what the span says itself', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`a${index}`, 'r'.repeat(5_000)]));
    const own = Object.fromEntries(Array.from({ length: 190 }, (_, index) => [`o${index}`, index]));
    const events = [{ name: 'cache.miss', attributes: [] }];
    const body = otlpJson({ ...own, 'session.id': 's1' }, { events }, { ...many, 'service.name': 'shop', 'session.id': 's2' });
    const [spans] = body.resourceSpans[0]?.scopeSpans ?? [];
    const [one] = spans?.spans ?? [];
    for (let index = 1; index < 500; index++)
      spans?.spans.push({ ...(one as NonNullable<typeof one>), spanId: index.toString(16).padStart(16, '0') });
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: 'large resource' });
    expect(answer.status).toBe(200);
    const [{ user_metadata: said }] = await search('spans', 'large resource');
    expect(said).toMatchObject({
      ...{ o0: '0', o189: '189', 'service.name': 'shop' },
      'otel.events': '[["cache.miss",null,{}]]',
    });
    expect(said).toMatchObject({ a0: expect.stringMatching(/^r{999}…$/), a2: expect.any(String) });
    expect(Number(said['otel.dropped_attributes'])).toBe(297);
  });

  test('a name that no log stream can have is refused where it stands', async () => {
    const name = 'x'.repeat(5_000);
    const refused = (loc: string[]) => ({
      status: 422,
      body: { detail: [expect.objectContaining({ loc, type: 'name_invalid' })] },
    });
    const inResource = otlpJson({}, {}, { 'assay.log_stream': name });
    expect(await service.request('POST', '/v1/traces', inResource, { project: project.name })).toMatchObject(
      refused(['body', 'resourceSpans']),
    );
    expect(await service.request('POST', '/v1/traces', otlpJson({}), { project: project.name, logstream: name })).toMatchObject(
      refused(['header', 'logstream']),
    );
  });

  test('spans that cannot be stored are told, and the others are stored', async () => {
    const body = otlpJson({});
    body.resourceSpans[0]?.scopeSpans[0]?.spans.push({
      ...(body.resourceSpans[0].scopeSpans[0].spans[0] as Json),
      traceId: '00',
    });
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: 'partly' });
    expect(answer).toMatchObject({
      status: 200,
      body: { partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining('trace id') } },
    });
    expect(await search('traces', 'partly')).toHaveLength(1);
  });

  test('may be a trace of 10,000 spans with an input of 8 MB', async () => {
    const big = 'x'.repeat(8_000_000);
    const body = otlpJson({ 'input.value': big });
    const spans: Json[] = body.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    for (let index = 1; index < 10_000; index++)
      spans.push({ ...spans[0], attributes: [], spanId: index.toString(16).padStart(16, '0'), parentSpanId: spans[0].spanId });
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: 'big' });
    expect(answer).toMatchObject({ status: 200, body: {} });
    const [found] = await search('traces', 'big');
    expect(found.input).toHaveLength(big.length);
    const count = await service.request('POST', `/projects/${project.id}/spans/count`, { log_stream_id: await streamId('big') });
    expect(count.body).toMatchObject({ total_count: 10_000 });
  });

  test('a span that nests too deep, or whose parent has no id, is told, and the others are stored', async () => {
    let deep: object = { stringValue: 'x' };
    for (let level = 0; level < 60; level++) deep = { arrayValue: { values: [deep] } };
    const body = otlpJson({});
    const spans: Json[] = body.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    spans.push({ ...spans[0], spanId: '00f067aa0ba902b1', attributes: [{ key: 'deep', value: deep }] });
    spans.push({ ...spans[0], spanId: '00f067aa0ba902b2', parentSpanId: 'zzzz' });
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: 'deep' });
    expect(answer).toMatchObject({
      status: 200,
      body: { partialSuccess: { rejectedSpans: '2', errorMessage: expect.stringMatching(/nests deeper.*parent span id/) } },
    });
    expect(await search('spans', 'deep')).toHaveLength(1);
  });

  test('attributes may be very many, and those that nobody reads may nest as they like', async () => {
    const many = Array.from({ length: 150_000 }, (_, index) => ({ key: `a${index}`, value: { intValue: '1' } }));
    const deep = Array.from({ length: 200 }).reduce((value: object) => ({ arrayValue: { values: [value] } }), { intValue: '1' });
    const span = await stored(
      'many',
      {},
      {
        events: [{ name: 'many', timeUnixNano: '1770000000223456789', attributes: many }],
        attributes: many,
        links: [
          { traceId: '1af7651916cd43dd8448eb211c80319c', spanId: '17ad6b7169203331', attributes: [{ key: 'deep', value: deep }] },
        ],
      },
    );
    expect(Object.keys(span.user_metadata)).toHaveLength(201);
    expect(Number(span.user_metadata['otel.dropped_attributes'])).toBeGreaterThan(149_000);
  });

  test('metadata, and what stands beside documents, may be very much', async () => {
    const many = Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`a${index}`, 1]));
    const span = await stored('much', {
      metadata: JSON.stringify(many),
      'output.value': JSON.stringify({ ...many, role: 'assistant', content: [{ content: 'Paris' }] }),
    });
    expect(span).toMatchObject({ type: 'retriever', output: [{ content: 'Paris' }] });
    expect(Number(span.user_metadata['otel.dropped_attributes'])).toBe(300_000 - 200);
  });

  test('finds a project that was deleted and made anew', async () => {
    const { id, name } = await service.project();
    const headers = { project: name, logstream: 'x' };
    expect((await service.request('POST', '/v1/traces', otlpJson({}), headers)).status).toBe(200);
    expect((await service.request('DELETE', `/projects/${id}`)).status).toBe(200);
    expect((await service.request('POST', '/projects', { name })).status).toBe(200);
    expect((await service.request('POST', '/v1/traces', otlpJson({}), headers)).status).toBe(200);
  });

  test('of too many spans is refused as a whole', async () => {
    const body = otlpJson({});
    const spans: Json[] = body.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    for (let index = 0; index < 100_000; index++) spans.push({ spanId: '01' });
    expect((await service.request('POST', '/v1/traces', body, { project: project.name })).status).toBe(413);
  });

  test('is told what is wrong with its form', async () => {
    const headers = { 'content-type': 'application/x-protobuf', project: project.name, 'Service-API-Key': service.apiKey };
    const refused = await fetch(`${service.url}/v1/traces`, { method: 'POST', headers, body: 'no protobuf' });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/x-protobuf']);
    const reason = 'the body is no ExportTraceServiceRequest in protobuf';
    // Fields of a google.rpc.Status: field 1, a number, and field 2, a text.
    expect(Buffer.from(await refused.arrayBuffer())).toEqual(Buffer.from([0x08, 3, 0x12, reason.length, ...Buffer.from(reason)]));
    const list = await service.request('POST', '/v1/traces', '[]', { 'content-type': 'application/json', project: project.name });
    expect(list).toMatchObject({ status: 400, body: { code: 3, message: expect.any(String), detail: expect.any(String) } });
    expect((await service.request('POST', '/v1/traces', '{}', { 'content-type': 'text/plain' })).status).toBe(415);
  });

  test('the example of the documentation works as it is written', async () => {
    const page = await readFile(new URL('../../docs/opentelemetry.md', import.meta.url), 'utf8');
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] as string;
    const response = await fetch(`${service.url}/v1/traces`, {
      method: 'POST',
      headers: {
        'Service-API-Key': service.apiKey,
        project: project.name,
        logstream: 'documented',
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: new Uint8Array(await promisify(gzip)(example)),
    });
    expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: {} });
    expect(await search('spans', 'documented')).toMatchObject([
      {
        type: 'llm',
        model: 'gpt-4o',
        input: [{ role: 'user', content: 'Hi' }],
        output: { role: 'assistant', content: 'Hello.' },
      },
    ]);
  });
});
