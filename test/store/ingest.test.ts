import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { controlAppliesTo } from '../../shared/wire/controlAppliesTo.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

const message = (role: string, content: string) => ({ role, content });

test('a document without metadata is answered without it, and the answer names the session that the traces are in', async () => {
  const { post, get } = service.space();
  const [traceId, spanId, session] = [newId(), newId(), newId()];
  const output = [
    { content: 'a', metadata: null },
    { content: 'b', metadata: { page: 1 } },
  ];
  const trace = { id: traceId, session_id: session, input: 'q', spans: [{ type: 'retriever', id: spanId, input: 'q', output }] };
  expect((await post('/traces', { traces: [trace] })).body).toMatchObject({ session_id: session });
  expect((await get(`/spans/${spanId}`)).body.output).toEqual([{ content: 'a' }, { content: 'b', metadata: { page: 1 } }]);
  expect((await post('/traces', { traces: [{ id: newId(), input: 'alone' }] })).body).toMatchObject({ session_id: null });
});

test('a control span says which calls it watches, also those that the catalog of columns does not list', async () => {
  const { post, get, run } = service.space();
  const trace = {
    id: newId(),
    input: 'q',
    spans: controlAppliesTo.map((one) => ({ type: 'control', name: one, applies_to: one })),
  };
  expect((await post('/traces', { traces: [trace] })).status).toBe(200);
  const { spans } = (await get(`/traces/${trace.id}`)).body;
  const read = spans.map(({ name, applies_to }: { name: string; applies_to: string }) => [name, applies_to]);
  expect(read.sort()).toEqual(controlAppliesTo.map((one) => [one, one]).sort());
  const search = {
    log_stream_id: run.runId,
    filter_tree: { filter: { type: 'text', column_id: 'applies_to', operator: 'eq', value: 'session_call' } },
  };
  expect((await post('/spans/search', search)).body.records).toMatchObject([{ name: 'session_call' }]);
});

test('a trace with nested spans of every kind comes back as it was logged', async () => {
  const { post, get, run } = service.space();
  const ids = Array.from({ length: 7 }, newId);
  const [traceId, agent, workflow, llm, tool, retriever, control] = ids as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const created_at = '2026-07-07T17:55:01.110554+02:00';
  const trace = {
    type: 'trace',
    id: traceId,
    name: 'question',
    created_at,
    input: 'What is 6 × 7?',
    output: '42',
    tags: ['prod', 'eu'],
    user_metadata: { tenant: 'a' },
    dataset_input: 'q',
    dataset_output: '42',
    dataset_metadata: { row: '1' },
    external_id: 'ext-1',
    status_code: 200,
    metrics: { duration_ns: 5_000_000_000, politeness: 0.75 },
    spans: [
      {
        type: 'agent',
        id: agent,
        name: 'planner',
        agent_type: 'planner',
        input: [message('user', 'plan')],
        output: message('assistant', 'planned'),
        spans: [
          {
            type: 'workflow',
            id: workflow,
            input: 'in',
            output: [{ content: 'doc', metadata: { score: 0.5 } }],
            spans: [
              {
                type: 'llm',
                id: llm,
                input: [message('system', 'be brief'), message('user', 'hi')],
                output: { ...message('assistant', ''), tool_calls: [{ id: 'c1', function: { name: 'add', arguments: '{}' } }] },
                metrics: { num_input_tokens: 12, num_output_tokens: 3, num_total_tokens: 15, cached: { a: 1 } },
                tools: [{ name: 'add' }],
                events: [{ type: 'message', role: 'assistant', content: 'hm' }],
                model: 'm-1',
                temperature: 0.25,
                finish_reason: 'stop',
                step_number: 3,
              },
            ],
          },
          { type: 'tool', id: tool, input: '{"a":1}', output: '2', tool_call_id: 'c1' },
        ],
      },
      { type: 'retriever', id: retriever, input: 'find', output: [{ content: 'found', metadata: {} }] },
      {
        type: 'control',
        id: control,
        input: 'check',
        output: { action: 'deny', matched: true, confidence: 0.9 },
        control_id: 7,
        agent_name: 'planner',
        check_stage: 'pre',
        applies_to: 'llm_call',
        evaluator_name: 'e',
        selector_path: '$.x',
      },
    ],
  };
  const answer = await post('/traces', { traces: [trace], include_trace_ids: true });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    log_stream_id: run.runId,
    experiment_id: null,
    metrics_testing_id: null,
    project_id: run.projectId,
    project_name: 'Test project',
    session_id: null,
    records_count: 7,
    traces_count: 1,
    spans_count: 6,
    trace_ids: [traceId],
  });

  const { body: read } = await get(`/traces/${traceId}`);
  expect(read).toMatchObject({
    type: 'trace',
    id: traceId,
    trace_id: traceId,
    session_id: traceId,
    created_at: '2026-07-07T15:55:01.110554Z',
    input: trace.input,
    output: '42',
    tags: ['prod', 'eu'],
    user_metadata: { tenant: 'a' },
    dataset_metadata: { row: '1' },
    external_id: 'ext-1',
    is_complete: true,
    has_children: true,
    metrics: { duration_ns: 5_000_000_000, politeness: 0.75 },
    metric_info: { politeness: { status_type: 'success', value: 0.75 } },
  });
  expect(read.spans.map((span: { id: string }) => span.id)).toEqual([agent, retriever, control]);
  const [readAgent, readRetriever, readControl] = read.spans;
  expect(readAgent).toMatchObject({
    agent_type: 'planner',
    parent_id: traceId,
    input: [message('user', 'plan')],
    output: message('assistant', 'planned'),
  });
  expect(readAgent.spans.map((span: { id: string }) => span.id)).toEqual([workflow, tool]);
  expect(readAgent.spans[0].output).toEqual([{ content: 'doc', metadata: { score: 0.5 } }]);
  expect(readAgent.spans[0].spans[0]).toMatchObject({
    type: 'llm',
    parent_id: workflow,
    trace_id: traceId,
    input: [message('system', 'be brief'), message('user', 'hi')],
    output: { tool_calls: [{ id: 'c1', function: { name: 'add', arguments: '{}' } }] },
    metrics: { num_input_tokens: 12, num_output_tokens: 3, num_total_tokens: 15, cached: { a: 1 } },
    tools: [{ name: 'add' }],
    events: [{ type: 'message', role: 'assistant', content: 'hm' }],
    model: 'm-1',
    temperature: 0.25,
    finish_reason: 'stop',
    step_number: 3,
    is_complete: true,
    has_children: false,
  });
  expect(readAgent.spans[0].spans[0]).not.toHaveProperty('spans');
  expect(readRetriever).toMatchObject({ input: 'find', output: [{ content: 'found' }], has_children: false });
  expect(readControl).toMatchObject({
    control_id: 7,
    check_stage: 'pre',
    output: { action: 'deny', matched: true, confidence: 0.9 },
  });

  const { body: span } = await get(`/spans/${workflow}`);
  expect(span).toMatchObject({ type: 'workflow', id: workflow, is_complete: true, spans: [{ id: llm }] });
});

test('the fast ingest routes do the same, and say that they are there', async () => {
  const { run, get } = service.space();
  expect(await service.http.request('GET', '/ingest/healthz')).toMatchObject({ status: 200 });
  const id = newId();
  const traces = await service.http.request('POST', `/v2/ingest/traces/${run.projectId}`, {
    json: { log_stream_id: run.runId, traces: [{ id, input: 'a' }], is_complete: false },
  });
  expect(traces.body).toMatchObject({ traces_count: 1, trace_ids: null });
  const spans = await service.http.request('POST', `/ingest/spans/${run.projectId}`, {
    json: { log_stream_id: run.runId, trace_id: id, parent_id: id, spans: [{ type: 'tool', input: 'x' }] },
  });
  expect(spans).toMatchObject({ status: 200, body: { records_count: 1, trace_id: id, parent_id: id, session_id: null } });
  expect((await get(`/traces/${id}`)).body).toMatchObject({ is_complete: false, spans: [{ type: 'tool', is_complete: false }] });
});

test('spans stand before their trace: a stub first, then the trace with them below it', async () => {
  const { post, get } = service.space();
  const [traceId, parent, child] = [newId(), newId(), newId()];
  await post('/spans', { trace_id: traceId, parent_id: parent, spans: [{ type: 'tool', id: child, input: 'b' }] });
  await post('/spans', { trace_id: traceId, parent_id: traceId, spans: [{ type: 'workflow', id: parent, input: 'a' }] });
  expect((await get(`/traces/${traceId}`)).body).toMatchObject({
    type: 'stub_trace',
    id: traceId,
    session_id: traceId,
    spans: [{ id: parent, is_complete: false, has_children: true, spans: [{ id: child }] }],
  });
  expect((await get(`/spans/${child}`)).body).toMatchObject({ parent_id: parent, trace_id: traceId });
  await post('/traces', { traces: [{ id: traceId, input: 'q' }], is_complete: false });
  expect((await get(`/traces/${traceId}`)).body).toMatchObject({
    type: 'trace',
    is_complete: false,
    spans: [{ id: parent, spans: [{ id: child }] }],
  });
});

test('one record for one id, whatever created_at a repeat brings', async () => {
  const { post, get, search } = service.space();
  const [traceId, spanId] = [newId(), newId()];
  const send = (created_at: string | undefined, output?: string) =>
    post('/traces', {
      traces: [{ id: traceId, created_at, input: 'q', output, spans: [{ type: 'tool', id: spanId, created_at, input: 'x' }] }],
    });
  await send('2026-01-01T00:00:00Z');
  await send('2020-05-05T05:05:05.5Z', 'later');
  await send(undefined);
  await Promise.all([send('1999-01-01T00:00:00Z'), send(undefined), send('2026-02-01T00:00:00+01:00')]);
  expect(await search('traces')).toHaveLength(1);
  expect(await search('spans')).toHaveLength(1);
  expect((await get(`/traces/${traceId}`)).body).toMatchObject({
    created_at: '2026-01-01T00:00:00.000000Z',
    output: 'later',
    spans: [{ id: spanId }],
  });
});

test('a repeated id within one request is one record too', async () => {
  const { post, get, search } = service.space();
  const [traceId, spanId] = [newId(), newId()];
  const twice = [
    { type: 'tool', id: spanId, input: 'x' },
    { type: 'tool', id: spanId, output: 'y', created_at: '2026-01-01T00:00:00Z' },
  ];
  await post('/traces', {
    traces: [
      { id: traceId, input: 'q', spans: twice },
      { id: traceId, output: 'a' },
    ],
  });
  expect(await search('traces')).toHaveLength(1);
  expect((await get(`/traces/${traceId}`)).body).toMatchObject({
    input: 'q',
    output: 'a',
    spans: [{ id: spanId, input: 'x', output: 'y' }],
  });
});

test('a repeat that says nothing new changes nothing, not even the time of the last change', async () => {
  const { post, patch, get } = service.space();
  const [id, spanId] = [newId(), newId()];
  const message = { role: 'user', content: 'hi' };
  const spans = [
    {
      ...{
        type: 'llm',
        id: spanId,
        input: [message],
        output: { role: 'assistant', content: 'ho' },
        model: 'm',
        temperature: 0.5,
      },
      ...{ tags: ['x'], user_metadata: { a: 'b' }, metrics: { duration_ns: 5, num_input_tokens: 3 } },
    },
  ];
  const trace = {
    id,
    name: 'n',
    created_at: '2026-01-01T00:00:00Z',
    input: 'q',
    output: 'a',
    metrics: { duration_ns: -1 },
    spans,
  };
  await post('/traces', { traces: [trace] });
  const before = (await get(`/traces/${id}`)).body;
  await post('/traces', { traces: [trace] });
  await post('/traces', { traces: [{ id, input: 'q', spans: [{ type: 'llm', id: spanId, input: [message] }] }] });
  expect((await get(`/traces/${id}`)).body).toEqual(before);
  await patch(`/traces/${id}`, { trace_id: id, tags: ['new'] });
  const after = (await get(`/traces/${id}`)).body;
  expect(after.updated_at > before.updated_at).toBe(true);
  await post('/traces', { traces: [{ ...trace, output: 'another' }] });
  expect((await get(`/traces/${id}`)).body).toMatchObject({ output: 'another', tags: ['new'] });
});

test('a score that is logged again counts again, whatever a scorer gave in between', async () => {
  const { post, get, run } = service.space();
  const id = newId();
  const traces = [{ id, input: 'q', created_at: '2026-01-01T00:00:00Z', metrics: { score: 1 } }];
  await post('/traces', { traces });
  const value = { metric: 'score', recordId: id, recordCreatedAt: '2026-01-01T00:00:00.000000Z', recordType: 'trace' } as const;
  await service.metricValues.write(run, [{ ...value, traceId: id, status: 'success', value: 0 }]);
  expect((await get(`/traces/${id}`)).body.metrics).toMatchObject({ score: 0 });
  await post('/traces', { traces });
  expect((await get(`/traces/${id}`)).body.metrics).toMatchObject({ score: 1 });
});

test('a repeat of a trace does not undo what an update said in between', async () => {
  const { post, patch, get } = service.space();
  const id = newId();
  const first = { traces: [{ id, input: 'q', output: null, tags: ['a'] }], is_complete: false };
  await post('/traces', first);
  await patch(`/traces/${id}`, { trace_id: id, output: 'done', is_complete: true, tags: ['b'] });
  await post('/traces', first);
  expect((await get(`/traces/${id}`)).body).toMatchObject({ output: 'done', is_complete: true, tags: ['a', 'b'] });
});

test('both ways that clients write empty fields are taken, and ids are made where none are given', async () => {
  const { post, get } = service.space();
  const nulls = {
    type: 'trace',
    input: 'q',
    redacted_input: null,
    output: null,
    redacted_output: null,
    name: 'n',
    created_at: null,
    user_metadata: {},
    tags: [],
    status_code: null,
    metrics: { duration_ns: null },
    external_id: null,
    dataset_input: null,
    dataset_output: null,
    dataset_metadata: {},
    id: null,
    session_id: null,
    trace_id: null,
    step_number: null,
    parent_id: null,
    spans: [
      {
        type: 'retriever',
        input: 'r',
        output: [{ content: 'd', metadata: null }],
        redacted_output: [{ content: '', metadata: null }],
        spans: null,
      },
      {
        type: 'llm',
        input: [message('user', 'u')],
        metrics: { duration_ns: null, num_input_tokens: null },
        tools: null,
        events: null,
      },
    ],
  };
  const { body } = await post('/traces', {
    session_id: null,
    session_external_id: null,
    is_complete: null,
    traces: [nulls, { input: 'bare' }],
    include_trace_ids: true,
    logging_method: 'python_client',
    reliable: false,
    client_version: 'x',
  });
  expect(body).toMatchObject({ traces_count: 2, spans_count: 2 });
  for (const id of body.trace_ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { body: read } = await get(`/traces/${body.trace_ids[0]}`);
  expect(read.spans).toMatchObject([
    { type: 'retriever', redacted_output: [{ content: '' }] },
    { type: 'llm', metrics: {} },
  ]);
  expect(read.spans[1]).not.toHaveProperty('output');
});

test('texts are stored as they are: unicode, NUL, quotes, lone surrogates as U+FFFD', async () => {
  const { post, get } = service.space();
  const id = newId();
  const text = '日本語 🎈 \u0000 \u0007 "quoted" \\n \\ \r\n\n\n\t\u2028 {p0:String} \'; DROP TABLE records; --';
  const json = [message('user', `${text}\ud800`)];
  await post('/traces', {
    traces: [
      {
        id,
        name: text,
        input: text,
        output: 'cut \ud83c',
        tags: [text],
        user_metadata: { [text]: text },
        spans: [{ type: 'llm', input: json, model: text }],
      },
    ],
  });
  const { body } = await get(`/traces/${id}`);
  expect(body).toMatchObject({ name: text, input: text, output: 'cut \ufffd', tags: [text], user_metadata: { [text]: text } });
  expect(body.spans[0]).toMatchObject({ input: [message('user', `${text}\ufffd`)], model: text });
});

test('keys named after the prototype do no harm, and are kept', async () => {
  const { post, get, run } = service.space();
  const id = newId();
  const raw = `{"log_stream_id":"${run.runId}","__proto__":{"polluted":1},"traces":[{"id":"${id}","input":"q","__proto__":{"polluted":1},"user_metadata":{"__proto__":"x","constructor":"y"},"metrics":{"__proto__":{"polluted":1},"prototype":2}}]}`;
  const response = await fetch(`${service.http.url}/projects/${run.projectId}/traces`, { method: 'POST', body: raw });
  expect(response.status).toBe(200);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  expect((await get(`/traces/${id}`)).body).toMatchObject({
    user_metadata: { _proto_: 'x', constructor: 'y' },
    metrics: { _proto_: { polluted: 1 }, prototype: 2 },
  });
  await post('/traces', { traces: [{ id, tags: ['again'] }] });
  expect((await get(`/traces/${id}`)).body).toMatchObject({ user_metadata: { constructor: 'y' }, tags: ['again'] });
});

const nestedSpans = (levels: number): object => {
  let span: object = { type: 'tool', input: 'leaf' };
  for (let i = 1; i < levels; i++) span = { type: 'workflow', input: `${i}`, spans: [span] };
  return span;
};

test('a request without traces is refused with 422 that says where', async () => {
  const { post, search } = service.space();
  for (const traces of [[], {}, 'q', undefined])
    expect(await post('/traces', { traces })).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'traces'] }] } });
  expect(await search('traces')).toEqual([]);
});

test('numbers at the edge are stored exactly', async () => {
  const { post, get } = service.space();
  const id = newId();
  const metrics = { duration_ns: Number.MAX_SAFE_INTEGER, tiny: 5e-324, huge: 1.7976931348623157e308, negative: -0.1 };
  await post('/traces', {
    traces: [{ id, input: 'q', created_at: '2299-12-31T23:59:59.999999Z', status_code: -2147483648, metrics }],
  });
  expect((await get(`/traces/${id}`)).body).toMatchObject({
    created_at: '2299-12-31T23:59:59.999999Z',
    status_code: -2147483648,
    metrics,
  });
});

test('spans nest to the documented depth and come back', async () => {
  const { post, get } = service.space();
  const id = newId();
  expect((await post('/traces', { traces: [{ id, input: 'q', spans: [nestedSpans(256)] }] })).status).toBe(200);
  let depth = 0;
  for (let at = (await get(`/traces/${id}`)).body; at; at = at.spans?.[0]) depth += 1;
  expect(depth).toBe(257);
});

test('a chain of spans deeper than that, logged one by one, and spans in a circle can be read', async () => {
  const { post, get } = service.space();
  const id = newId();
  const chain = Array.from({ length: 600 }, newId);
  await Promise.all(
    chain.map((span, i) =>
      post('/spans', { trace_id: id, parent_id: chain[i - 1] ?? id, spans: [{ type: 'workflow', id: span, input: `${i}` }] }),
    ),
  );
  const [a, b] = [newId(), newId()];
  await post('/spans', { trace_id: id, parent_id: b, spans: [{ type: 'workflow', id: a }] });
  await post('/spans', { trace_id: id, parent_id: a, spans: [{ type: 'workflow', id: b }] });
  await post('/traces', { traces: [{ id, input: 'q' }] });
  const { status, body } = await get(`/traces/${id}`);
  expect(status).toBe(200);
  const seen: string[] = [];
  for (const open = [...body.spans]; open.length > 0; ) {
    const span = open.pop();
    seen.push(span.id);
    open.push(...span.spans);
  }
  expect(seen.sort()).toEqual([...chain, a, b].sort());
});

test('a trace of 10,000 spans is stored by one request and read by another', async () => {
  const { post, get } = service.space();
  const id = newId();
  const spans = Array.from({ length: 10_000 }, (_, i) => ({
    type: 'tool',
    name: `step ${i}`,
    input: `input ${i}`,
    output: 'ok',
    step_number: i,
  }));
  expect((await post('/traces', { traces: [{ id, input: 'q', spans }] })).body.records_count).toBe(10_001);
  const { body } = await get(`/traces/${id}`);
  expect(body.spans.map((span: { step_number: number }) => span.step_number)).toEqual(
    spans.map(({ step_number }) => step_number),
  );
});

test('an input of 8 MB is stored whole', async () => {
  const { post, get } = service.space();
  const id = newId();
  const input = 'lorem ipsum \n\n "dolor" '.repeat(365_000).slice(0, 8 * 1024 * 1024);
  expect(
    (await post('/traces', { traces: [{ id, input, spans: [{ type: 'llm', input: [message('user', input)] }] }] })).status,
  ).toBe(200);
  const { body } = await get(`/traces/${id}`);
  expect(body.input).toBe(input);
  expect(body.spans[0].input[0].content).toBe(input);
});

test('scores that a client computed are kept on the record and found as metrics', async () => {
  const { post, run } = service.space();
  const ids = [newId(), newId(), newId()];
  const scores = [
    { accuracy: 1, label: 'good', ok: true, parts: ['a', 'b'] },
    { accuracy: 0.5, label: 'bad', ok: false, parts: ['b'] },
    {},
  ];
  await post('/traces', { traces: ids.map((id, i) => ({ id, input: 'q', metrics: { duration_ns: 1, ...scores[i] } })) });
  expect([...(await service.metricValues.counts(run)).metrics.keys()]).toEqual(['accuracy', 'label', 'ok', 'parts']);
  expect(await service.metricValues.aggregate(run, 'accuracy')).toMatchObject({
    count: 2,
    avg: 0.75,
    sum: 1.5,
    min: 0.5,
    max: 1,
  });
  expect(await service.metricValues.aggregate(run, 'ok')).toMatchObject({
    pct: 0.5,
    valueDistribution: { true: 1, false: 1 },
  });
  expect(await service.metricValues.aggregate(run, 'parts')).toMatchObject({ avg: null, valueDistribution: { a: 1, b: 2 } });
  expect(await service.metricValues.aggregate(run, 'label')).toMatchObject({ valueDistribution: { good: 1, bad: 1 } });
  const above = [{ type: 'number', column_id: 'metrics/accuracy', operator: 'gt', value: 0.7 }];
  const answer = await post('/traces/search', { filters: above });
  expect(answer.body.records.map((record: { id: string }) => record.id)).toEqual([ids[0]]);
});

test('maps and lists of maps that a client logged as metrics are answered in a form that results can have', async () => {
  const { post, get } = service.space();
  const id = newId();
  const metrics = {
    score: 0.5,
    score_metadata: { by: 'the metric itself' },
    scored: { why: 'short', parts: { a: [1, 2] } },
    rows: [{ a: 1 }],
    nested: [
      ['a', null],
      [1, true],
    ],
    documents: [{ content: 'found', metadata: {} }],
  };
  await post('/traces', { traces: [{ id, input: 'q', metrics }] });
  const { records } = (await post('/traces/search', { filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: id }] }))
    .body;
  const { body } = await get(`/traces/${id}`);
  for (const record of [records[0], body]) {
    expect(record.metrics).toMatchObject(metrics);
    expect(record.metric_info).toEqual({
      score: expect.objectContaining({ status_type: 'success', value: 0.5 }),
      scored: expect.objectContaining({ status_type: 'success', value: '{"why":"short","parts":{"a":[1,2]}}' }),
      rows: expect.objectContaining({ status_type: 'success', value: '[{"a":1}]' }),
      nested: expect.objectContaining({ value: metrics.nested }),
      documents: expect.objectContaining({ value: metrics.documents }),
    });
  }
});

test('an unknown id is 404 with a detail', async () => {
  const { get } = service.space();
  for (const what of ['traces', 'spans', 'sessions']) {
    const answer = await get(`/${what}/${newId()}`);
    expect(answer.status).toBe(404);
    expect(answer.body.detail).toContain(`no ${what.slice(0, -1)}`);
  }
});

test('a record of another project is not found', async () => {
  const [mine, theirs] = [service.space(), service.space()];
  const id = newId();
  await theirs.post('/traces', { traces: [{ id, input: 'secret' }] });
  expect((await mine.get(`/traces/${id}`)).status).toBe(404);
});

test('a trace or span with more records than one answer holds is refused with the way to read it, one below it is not', async () => {
  const { run, get } = service.space();
  const [traceId, spanId, leafId] = [newId(), newId(), newId()];
  const ids = `toUUID('${run.projectId}') AS project_id, toUUID('${run.runId}') AS run_id, toUUID('${traceId}') AS trace_id`;
  const id = `multiIf(number = 0, toUUID('${spanId}'), number = 1, toUUID('${leafId}'), reinterpretAsUUID(toUInt128(number))) AS id`;
  const own = `${id}, if(number = 0, trace_id, toUUID('${spanId}')) AS parent_id`;
  const columns = 'project_id, run_id, trace_id, id, parent_id, session_id, type, created_at, version';
  for (const table of ['record_keys', 'trace_members', 'records']) {
    await service.clickhouse.command({
      name: 'many spans',
      sql: `INSERT INTO ${table} (${columns}) SELECT ${ids}, ${own}, trace_id, 'tool', toDateTime64('2026-01-01', 6, 'UTC'), 1 FROM numbers(50001)`,
    });
  }
  for (const path of [`/traces/${traceId}`, `/spans/${spanId}`]) {
    const { status, body } = await get(path);
    expect(status).toBe(422);
    const msg = expect.stringContaining('more than 50000 records; read its spans page by page through spans/search');
    expect(body.detail).toMatchObject([{ msg, type: 'query_too_expensive', loc: ['path', expect.stringMatching(/_id$/)] }]);
  }
  expect((await get(`/spans/${leafId}`)).status).toBe(200);
});

test('a span that is logged again as another kind has the shapes of that kind', async () => {
  const { post, get } = service.space();
  const id = newId();
  const traceId = newId();
  const span = (fields: object) => post('/spans', { trace_id: traceId, parent_id: traceId, spans: [{ id, ...fields }] });
  await span({ type: 'llm', input: 'hi', output: 'yo' });
  await span({ type: 'tool', name: 'n' });
  const tool = (await get(`/spans/${id}`)).body;
  expect(tool).toMatchObject({ type: 'tool', input: expect.stringContaining('hi'), output: expect.stringContaining('yo') });
  await span({ type: 'llm', name: 'n' });
  expect((await get(`/spans/${id}`)).body).toMatchObject({
    type: 'llm',
    input: [{ role: 'user' }],
    output: { role: 'assistant' },
  });
});

test('a span is in the session of its trace, whatever it says itself', async () => {
  const { post, get } = service.space();
  const [id, sessionId] = [newId(), newId()];
  await post('/traces', { session_id: sessionId, traces: [{ id, name: 't' }] });
  const spans = [{ type: 'tool', id: newId(), input: 'x', session_id: newId() }];
  const answer = await post('/spans', { trace_id: id, parent_id: id, spans });
  expect(answer.body).toMatchObject({ session_id: sessionId });
  expect((await get(`/spans/${spans[0]?.id}`)).body).toMatchObject({ session_id: sessionId });
});

test('a span that came before its trace with another session, or with one where the trace has none, goes to where its trace is', async () => {
  const { post, get, search } = service.space();
  const send = {
    trace: (id: string, session: object) => post('/traces', { ...session, traces: [{ id, name: 't' }] }),
    spans: (trace_id: string, sessions: (string | null)[]) =>
      post('/spans', {
        trace_id,
        parent_id: trace_id,
        spans: sessions.map((session_id) => ({ type: 'tool', input: 'x', session_id })),
      }),
  };
  const sessionsOf = async (id: string): Promise<unknown[]> => [
    ...new Set((await get(`/traces/${id}`)).body.spans.map((span: { session_id: string }) => span.session_id)),
  ];
  const [own, others, together] = [newId(), newId(), newId()];
  for (const session of [{}, { session_id: newId() }]) {
    const id = newId();
    await send.spans(id, [own]);
    await send.spans(id, [null, others]);
    expect((await sessionsOf(id)).sort()).toEqual([own, others, id].sort());
    await send.trace(id, session);
    expect(await sessionsOf(id)).toEqual([session.session_id ?? id]);
    // From now on it is as for any trace.
    await send.spans(id, [own]);
    expect(await sessionsOf(id)).toEqual([session.session_id ?? id]);
  }
  await Promise.all([send.spans(together, [own]), send.trace(together, {}), send.spans(together, [others])]);
  expect(await sessionsOf(together)).toEqual([together]);
  const ofSession = { type: 'id', column_id: 'session_id', operator: 'one_of', value: [own, others] };
  expect(await search('spans', [ofSession])).toEqual([]);
});

test('a trace may say its own id as that of its trace, and what is sent twice counts once', async () => {
  const { post, get } = service.space();
  const id = newId();
  const answer = await post('/traces', {
    traces: [
      { trace_id: id, name: 't' },
      { id, name: 't' },
    ],
  });
  expect(answer.body).toMatchObject({ traces_count: 1, records_count: 1 });
  expect((await get(`/traces/${id}`)).status).toBe(200);
});
