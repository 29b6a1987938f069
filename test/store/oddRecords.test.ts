import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { ExactNumber } from '../../shared/wire/exactNumber.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

const deep = (levels: number) => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`) as unknown;

/** Logs a trace with these fields between two others. @returns how it reads, with its spans */
async function logged(fields: object): Promise<Record<string, never> & { spans: Record<string, unknown>[] }> {
  const { post, get, search } = service.space();
  const id = newId();
  const traces = [{ input: 'before' }, { id, input: 'odd', ...fields }, { input: 'after' }];
  const answer = await post('/traces', { traces, include_trace_ids: true });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ traces_count: 3 });
  expect(answer.body).not.toHaveProperty('refused');
  expect(await search('traces')).toHaveLength(3);
  return (await get(`/traces/${answer.body.trace_ids[1]}`)).body;
}

const spanOf = async (span: object) => (await logged({ spans: [span] })).spans[0] as Record<string, unknown>;

describe('a record that is odd costs nothing', () => {
  test.each([
    ['human', 'user'],
    ['HumanMessage', 'user'],
    ['AI', 'assistant'],
    ['AIMessageChunk', 'assistant'],
    ['model', 'assistant'],
    ['bot', 'assistant'],
    ['function', 'function'],
    ['tool_result', 'tool'],
    [' System ', 'system'],
  ])('the role %s is %s', async (role, known) => {
    const span = await spanOf({ type: 'llm', input: [{ role, content: 'q' }], output: { role, content: 'a' } });
    expect(span).toMatchObject({ input: [{ role: known }], output: { role: known }, user_metadata: {} });
  });

  test('a field of very many values is text where texts belong, and its beginning is kept as text elsewhere', async () => {
    const many = Array.from({ length: 50_001 }, () => 0);
    const keys = Object.fromEntries(many.map((value, index) => [`k${index}`, value]));
    const fields = { input: many, tags: many, metrics: keys, user_metadata: keys };
    const { input, tags, user_metadata } = await logged(fields);
    expect(input).toBe(JSON.stringify(many));
    expect(tags).toEqual([]);
    expect(user_metadata).toMatchObject({ user_metadata: expect.stringMatching(/^{"k0":0.*…$/) });
    expect(Object.keys(user_metadata as unknown as object).sort()).toEqual(['metrics', 'tags', 'user_metadata']);
    const text = JSON.stringify(many);
    const span = await spanOf({ type: 'llm', input: many, output: many });
    expect(span).toMatchObject({ input: [{ role: 'user', content: text }], output: { role: 'assistant', content: text } });
  });

  test('of records that hold very many values together, the later ones keep the beginning of what does not fit', async () => {
    const { post, get } = service.space();
    const many = Array.from({ length: 40_000 }, () => 0);
    const traces = Array.from({ length: 8 }, () => ({ input: 'x', tags: many }));
    const { status, body } = await post('/traces', { traces, include_trace_ids: true });
    expect(status).toBe(200);
    const tags = await Promise.all(
      body.trace_ids.map(async (id: string) => (await get(`/traces/${id}`)).body.tags.length as number),
    );
    expect(tags).toEqual([...Array.from({ length: 6 }, () => many.length), 0, 0]);
  });

  test('spans that are counted from 1 in each trace stay where they are, and come again as themselves', async () => {
    const { post, get } = service.space();
    const spans = ['1', '2'].map((id) => ({ type: 'workflow', id, name: `span ${id}` }));
    const [one, other] = [newId(), newId()];
    const traces = [one, other].map((id) => ({ id, input: 'counted', spans }));
    for (let time = 0; time < 2; time++)
      expect(await post('/traces', { traces })).toMatchObject({ status: 200, body: { spans_count: 4 } });
    const idsOf = async (trace: string) => {
      const { body } = await get(`/traces/${trace}`);
      expect(body.spans).toMatchObject([{ user_metadata: { id: '1' } }, { user_metadata: { id: '2' } }]);
      return (body.spans as { id: string }[]).map(({ id }) => id);
    };
    expect(new Set([...(await idsOf(one)), ...(await idsOf(other))]).size).toBe(4);
  });

  test('a role that nobody knows is the user in inputs and the assistant in outputs; what it was is kept', async () => {
    const input = [
      { role: 'system', content: 's' },
      { role: 'critic', content: 'q' },
    ];
    for (const type of ['llm', 'workflow', 'agent']) {
      const span = await spanOf({ type, input, output: { role: 'narrator', content: 'a' }, user_metadata: { own: 'x' } });
      expect(span).toMatchObject({
        type,
        input: [{ role: 'system' }, { role: 'user', content: 'q' }],
        output: { role: 'assistant', content: 'a' },
        user_metadata: { own: 'x', 'input.1.role': 'critic', 'output.role': 'narrator' },
      });
    }
    const events = [{ type: 'message', role: 'critic', content: 'hm' }, { type: 'thought' }];
    expect(await spanOf({ type: 'llm', events })).toMatchObject({
      events: [{ type: 'message', role: 'assistant', content: 'hm' }],
      user_metadata: { 'events.0.role': 'critic', 'events.1': '{"type":"thought"}' },
    });
  });

  test('numbers, booleans and null are texts in metadata and tags; numbers in texts are read', async () => {
    const trace = await logged({
      tags: [1, 'two', true],
      user_metadata: { n: 1.5, yes: true, none: null, list: [1], text: 't' },
      dataset_metadata: { row: 7 },
      status_code: '200',
      name: 7,
      metrics: { duration_ns: '1500', own: '12', cost: 0.5 },
      spans: [
        {
          type: 'llm',
          metrics: { num_input_tokens: '12', num_output_tokens: 'NaN', num_total_tokens: ' 7 ' },
          temperature: '0.5',
        },
      ],
    });
    expect(trace).toMatchObject({
      tags: ['1', 'two', 'true'],
      user_metadata: { n: '1.5', yes: 'true', none: 'null', list: '[1]', text: 't' },
      dataset_metadata: { row: '7' },
      status_code: 200,
      name: '7',
      metrics: { duration_ns: 1500, own: '12', cost: 0.5 },
      spans: [
        {
          metrics: { num_input_tokens: 12, num_total_tokens: 7 },
          temperature: 0.5,
          user_metadata: { 'metrics.num_output_tokens': 'NaN' },
        },
      ],
    });
  });

  test.each([
    ['2026-07-07', '2026-07-07T00:00:00.000000Z'],
    [1_783_439_701, '2026-07-07T15:55:01.000000Z'],
    ['1783439701110', '2026-07-07T15:55:01.110000Z'],
    [1_783_439_701_110_554, '2026-07-07T15:55:01.110000Z'],
    ['1783439701110554000', '2026-07-07T15:55:01.110000Z'],
    ['Tue, 07 Jul 2026 15:55:01 GMT', '2026-07-07T15:55:01.000000Z'],
  ])('the time %s is read', async (created_at, read) => {
    expect(await logged({ created_at })).toMatchObject({ created_at: read, user_metadata: {} });
  });

  test.each([
    'yesterday',
    '1800-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '2026-02-30T00:00:00Z',
    '2026-02-30',
    'Tue, 31 Feb 2026 10:00:00 GMT',
    '12',
    5,
    true,
    {},
  ])('the time %s is none: it is kept beside the record', async (created_at) => {
    const text = typeof created_at === 'string' ? created_at : JSON.stringify(created_at);
    expect(await logged({ created_at })).toMatchObject({ user_metadata: { created_at: text } });
  });

  test('what a column cannot hold is kept beside the record', async () => {
    const trace = await logged({
      created_at: '2026-01-01T00:00:00Z',
      status_code: 3e9,
      step_number: 'first',
      metrics: { duration_ns: 1e17, deep: deep(100) },
      session_id: 'visit',
      parent_id: 12,
      spans: [
        { type: 'agent', agent_type: 'wizard', created_at: 'never' },
        { type: 'control', output: 'no', check_stage: 'amid', applies_to: 'every_call' },
      ],
    });
    expect(trace).toMatchObject({
      user_metadata: {
        status_code: '3000000000',
        step_number: 'first',
        'metrics.duration_ns': '100000000000000000',
        session_id: 'visit',
        parent_id: '12',
      },
      metrics: { deep: expect.stringContaining('[[[') },
    });
    const [agent, control] = trace.spans;
    expect(agent).toMatchObject({
      agent_type: 'default',
      created_at: trace.created_at,
      user_metadata: { agent_type: 'wizard', created_at: 'never' },
    });
    expect(control).toMatchObject({
      output: null,
      user_metadata: { output: 'no', check_stage: 'amid', applies_to: 'every_call' },
    });
  });

  test('numbers in texts are numbers wherever the name of the metric says so, and one that is none costs the others nothing', async () => {
    const texts = {
      cost: '0.5',
      num_input_tokens: '12',
      num_image_input_tokens: ' 3 ',
      time_to_first_token_ns: '1e6',
      grade: '7',
    };
    const numbers = { cost: 0.5, num_input_tokens: 12, num_image_input_tokens: 3, time_to_first_token_ns: 1_000_000, grade: '7' };
    for (const type of ['llm', 'tool', 'retriever', 'workflow', 'agent', 'control'])
      expect(await spanOf({ type, metrics: texts })).toMatchObject({ metrics: numbers, user_metadata: {} });
    expect(await logged({ metrics: texts })).toMatchObject({ metrics: numbers, user_metadata: {} });
    const odd = { cost: 'free', num_output_tokens: 'few', num_input_tokens: 2 };
    const span = await spanOf({ type: 'llm', metrics: odd });
    expect(span).toMatchObject({
      metrics: { num_input_tokens: 2 },
      user_metadata: { 'metrics.cost': 'free', 'metrics.num_output_tokens': 'few' },
    });
    expect(span.metrics).not.toHaveProperty('num_output_tokens');
  });

  test('the result of a control is read in one piece', async () => {
    const output = { action: 'DENY', matched: 'true', confidence: '0.5', error_message: 7 };
    expect(await spanOf({ type: 'control', output })).toMatchObject({
      output: { action: 'deny', matched: true, confidence: 0.5, error_message: '7' },
    });
    const unsure = await spanOf({ type: 'control', output: { action: 'deny', matched: false, confidence: 'high' } });
    expect(unsure).toMatchObject({ output: { action: 'deny', matched: false }, user_metadata: { 'output.confidence': 'high' } });
    const other = { action: 'allow', matched: true };
    expect(await spanOf({ type: 'control', output: other })).toMatchObject({
      output: null,
      user_metadata: { output: JSON.stringify(other) },
    });
  });

  test('what a document says beside its content and metadata is in its metadata', async () => {
    const output = [
      { content: 'd', score: 0.9, id: 'a', where: { page: 1 }, none: null, metadata: { id: 'own', kept: true } },
      { content: 7, rank: 1 },
      { content: 'plain' },
    ];
    const documents = [
      { content: 'd', metadata: { score: 0.9, where: '{"page":1}', id: 'own', kept: true } },
      { content: '7', metadata: { rank: 1 } },
      { content: 'plain' },
    ];
    expect(await spanOf({ type: 'retriever', output })).toMatchObject({ output: documents });
    expect(await spanOf({ type: 'workflow', output: [output[0], output[2]] })).toMatchObject({
      output: [documents[0], documents[2]],
    });
  });

  test('messages that a step answers keep their roles and calls', async () => {
    const output = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', tool_calls: [{ id: '1', function: { name: 'f', arguments: '{}' } }] },
    ];
    for (const type of ['agent', 'workflow'])
      expect(await spanOf({ type, output })).toMatchObject({ output: JSON.stringify(output) });
  });

  test('an object with a method of its own for texts costs nothing', async () => {
    const odd = { toString: 'none', valueOf: 1 };
    const { post, patch } = service.space();
    const output = { action: 'deny', matched: odd };
    expect(await spanOf({ type: 'control', output })).toMatchObject({ user_metadata: { output: JSON.stringify(output) } });
    const id = newId();
    expect((await post('/traces', { traces: [{ id }], is_complete: odd, include_trace_ids: odd, session_id: odd })).status).toBe(
      200,
    );
    expect((await patch(`/traces/${id}`, { trace_id: id, is_complete: odd, tags: odd, metrics: odd })).status).toBe(200);
  });

  test('inputs and outputs of another form are their text', async () => {
    const trace = await logged({
      input: [{ role: 'user', content: 'q' }],
      output: { answer: 42 },
      spans: [
        { type: 'tool', input: { q: 1 }, output: [1, 2] },
        {
          type: 'retriever',
          input: ['q'],
          output: [{ page_content: 'd' }, { content: 'e', metadata: { score: 0.5, tags: ['x'] } }],
        },
        {
          type: 'llm',
          input: [{ type: 'human', content: [{ type: 'image_url', image_url: 'u' }] }],
          output: { role: 'ai', content: null, tool_calls: [{ name: 'f', args: { a: 1 } }] },
        },
      ],
    });
    expect(trace).toMatchObject({ input: '[{"role":"user","content":"q"}]', output: '{"answer":42}' });
    expect(trace.spans).toMatchObject([
      { input: '{"q":1}', output: '[1,2]' },
      {
        input: '["q"]',
        output: [{ content: '{"page_content":"d"}' }, { content: 'e', metadata: { score: 0.5, tags: '["x"]' } }],
      },
      {
        input: [{ role: 'user', content: [{ type: 'text', text: '{"type":"image_url","image_url":"u"}' }] }],
        output: { role: 'assistant', content: '', tool_calls: [{ id: '', function: { name: 'f', arguments: '{"a":1}' } }] },
      },
    ]);
  });

  test('whole numbers keep all their digits where they become text', async () => {
    const digits = '1234567890123456789';
    const large = new ExactNumber(digits);
    const trace = await logged({
      input: { q: large },
      tags: [large],
      user_metadata: { user: large, list: [large], ['__proto__']: large },
      metrics: { own: large, duration_ns: large },
      spans: [{ type: 'retriever', input: 'q', output: [{ content: 'd', metadata: { row: large } }] }],
    });
    expect(trace).toMatchObject({
      input: `{"q":${digits}}`,
      tags: [digits],
      user_metadata: { user: digits, _proto_: digits, list: `[${digits}]` },
      metrics: { own: Number(digits) },
      spans: [{ output: [{ content: 'd', metadata: { row: Number(digits) } }] }],
    });
  });

  test('a kind that is none is a workflow, and what hangs below any kind stays', async () => {
    const below = (name: string) => [{ type: 'tool', name }];
    const { spans } = await logged({
      spans: [
        { type: 'chain', name: 'a', spans: below('b'), model: 'small', temperature: 0.5, tools: [{ x: 1 }], finish_reason: null },
        { type: 'LLM', name: 'c', spans: below('d') },
        { name: 'e', spans: { type: 'tool', name: 'f' } },
        { type: 'tool', name: 'g', spans: 'none' },
      ],
    });
    const byName = spans.sort((one, other) => String(one.name).localeCompare(String(other.name)));
    expect(byName.map(({ name, type }) => [name, type])).toEqual([
      ['a', 'workflow'],
      ['c', 'llm'],
      ['d', 'tool'],
      ['e', 'workflow'],
      ['g', 'tool'],
    ]);
    const said = { type: 'chain', model: 'small', temperature: '0.5', tools: '[{"x":1}]' };
    expect(spans[0]).toMatchObject({ spans: [{ name: 'b' }] });
    expect(spans[0]?.user_metadata).toEqual(said);
    expect(spans[2]).toMatchObject({ parent_id: spans[1]?.id });
    expect(spans[3]).toMatchObject({ user_metadata: {}, spans: [{ name: 'f' }] });
    expect(spans[4]).toMatchObject({ user_metadata: { spans: 'none' } });
  });

  test('an id that is no UUID of version 4 gives the same id whenever it comes', async () => {
    const { post, search } = service.space();
    const ids = ['run-1', '0198f2a7-7c1e-7cc3-98c4-dc0c0c07398f', 17];
    const traces = ids.map((id) => ({ id, input: 'q', spans: [{ type: 'tool', id: `${id}/tool` }] }));
    const first = await post('/traces', { traces, include_trace_ids: true });
    const second = await post('/traces', { traces, include_trace_ids: true });
    expect(first.body).toMatchObject({ records_count: 6 });
    expect(second.body).toEqual(first.body);
    const [found, spans] = [await search('traces'), await search('spans')];
    expect(found.map(({ user_metadata }: { user_metadata: object }) => user_metadata)).toEqual(
      expect.arrayContaining(ids.map((id) => ({ id: String(id) }))),
    );
    expect([found.length, spans.length]).toEqual([3, 3]);
  });

  test('whoever names a record by an id that is no UUID of version 4 finds it again', async () => {
    const { post, patch, get, run } = service.space();
    for (const id of ['run-1', '0198F2A7-7C1E-7CC3-98C4-DC0C0C07398F']) {
      const first = await post('/traces', {
        traces: [{ id, spans: [{ type: 'tool', id: 'step' }] }],
        include_trace_ids: true,
        is_complete: 'false',
      });
      const [traceId] = first.body.trace_ids;
      const below = { trace_id: id, parent_id: 'step', spans: [{ type: 'tool', id: `${id}/inner`, name: 'inner' }] };
      const beside = { trace_id: id, parent_id: id, spans: [{ type: 'tool', name: 'beside' }] };
      const answers = [await post('/spans', below), await post('/spans', beside)];
      expect(answers).toMatchObject([
        { status: 200, body: { trace_id: traceId } },
        { status: 200, body: { trace_id: traceId, parent_id: traceId } },
      ]);
      const path = `/traces/${encodeURIComponent(id)}`;
      const update = { ...run, trace_id: id, output: 'o', is_complete: 'True' };
      expect(await patch(path, update)).toMatchObject({ status: 200, body: { trace_id: traceId, records_count: 1 } });
      const { body } = await get(`/traces/${traceId}`);
      expect(body).toMatchObject({ output: 'o', is_complete: true });
      const [step] = body.spans.filter(({ user_metadata }: { user_metadata: { id?: string } }) => user_metadata.id === 'step');
      expect(step.spans).toMatchObject([{ name: 'inner', parent_id: answers[0]?.body.parent_id }]);
      expect(body.spans).toHaveLength(2);
    }
  });

  test('a span is updated by a UUID of any version; of another id the update says that it cannot be', async () => {
    const { post, patch, search } = service.space();
    const id = '0198F2A7-7C1E-7CC3-98C4-DC0C0C07398F';
    await post('/traces', { traces: [{ spans: [{ type: 'tool', id }] }] });
    expect((await patch(`/spans/${id}`, { span_id: id.toLowerCase(), output: 'o' })).body).toMatchObject({ records_count: 1 });
    expect(await search('spans')).toMatchObject([{ output: 'o' }]);
    expect(await patch('/spans/step', { span_id: 'step', output: 'o' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['path', 'span_id'], msg: expect.stringContaining('known in their trace alone') }] },
    });
  });

  test('what a request says of itself refuses nothing, and a session of another id is one by its external id', async () => {
    const { post, get } = service.space();
    const odd = {
      logging_method: 'ruby_client',
      client_version: 3,
      reliable: 'yes',
      is_complete: 'maybe',
      include_trace_ids: 'true',
    };
    const { status, body } = await post('/traces', { ...odd, session_id: 'visit-7', traces: [{ input: 'q' }] });
    expect([status, body]).toMatchObject([200, { traces_count: 1, session_id: expect.any(String) }]);
    const { body: session } = await get(`/sessions/${body.session_id}`);
    expect(session).toMatchObject({ external_id: 'visit-7', traces: [{ id: body.trace_ids[0], is_complete: true }] });
    const opened = await post('/sessions', { name: 's', previous_session_id: 'before', user_metadata: { own: 'x' } });
    expect(opened).toMatchObject({ status: 200, body: { name: 's', previous_session_id: null } });
    expect((await get(`/sessions/${opened.body.id}`)).body).toMatchObject({
      user_metadata: { own: 'x', previous_session_id: 'before' },
    });
  });

  test('spans nest as deep as they like: those below 256 levels stand beside the span above them', async () => {
    const { run, get, search } = service.space();
    const id = newId();
    const levels = 3_000;
    const spans = `${'{"type":"workflow","spans":['.repeat(levels)}{"type":"tool"}${']}'.repeat(levels)}`;
    const lists = `${'['.repeat(9_000)}"\\ud800"${']'.repeat(9_000)}`;
    const odd = `{"id":"${id}","input":"q","user_metadata":{"deep":${lists},"half\\ud800":"\\ud800"},"spans":[${spans}]}`;
    const body = `{"log_stream_id":"${run.runId}","traces":[{"input":"before"},${odd},{"input":"after"}]}`;
    const response = await fetch(`${service.http.url}/projects/${run.projectId}/traces`, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ traces_count: 3, spans_count: levels + 1 });
    expect(await search('traces')).toHaveLength(3);
    const trace = (await get(`/traces/${id}`)).body;
    let depth = 0;
    for (let at = trace; at; at = at.spans?.[0]) depth += 1;
    expect(depth).toBe(257);
    expect(trace.user_metadata).toMatchObject({ deep: expect.stringContaining('[[['), 'half\ufffd': '\ufffd' });
  });

  test('a number beyond every double is kept as it was sent', async () => {
    const { run, search } = service.space();
    const raw = `{"log_stream_id":"${run.runId}","traces":[{"input":"q","metrics":{"m":1e999},"status_code":-1e999}]}`;
    const response = await fetch(`${service.http.url}/projects/${run.projectId}/traces`, { method: 'POST', body: raw });
    expect(response.status).toBe(200);
    expect(await search('traces')).toMatchObject([{ user_metadata: { 'metrics.m': '1e999', status_code: '-1e999' } }]);
  });
});

test('spans of OpenTelemetry follow the same rule for roles', async () => {
  const { run, search } = service.space();
  const attribute = (key: string, messages: object[]) => ({ key, value: { stringValue: JSON.stringify(messages) } });
  const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
  const span = {
    ...{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', name: 'chat' },
    ...{ startTimeUnixNano: '1770000000123456789', endTimeUnixNano: '1770000001123456789' },
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      attribute('gen_ai.input.messages', [message('HumanMessage', 'q'), message('critic', 'r')]),
      attribute('gen_ai.output.messages', [message('narrator', 'a')]),
    ],
  };
  const sent = await service.http.request('POST', '/otel/traces', {
    headers: { project: run.projectId, logstream: run.runId },
    json: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
  });
  expect(sent.status).toBe(200);
  expect(await search('spans')).toMatchObject([
    {
      input: [
        { role: 'user', content: 'q' },
        { role: 'user', content: 'r' },
      ],
      output: { role: 'assistant', content: 'a' },
      user_metadata: { 'input.1.role': 'critic', 'output.role': 'narrator' },
    },
  ]);
});

describe('what is no record at all', () => {
  test('is refused alone, and the answer names it', async () => {
    const { post, get, search } = service.space();
    const spans = [
      { type: 'tool', name: 'kept' },
      'no span',
      { type: 'workflow', spans: [null, { type: 'tool', name: 'kept too' }] },
    ];
    const answer = await post('/traces', { traces: [7, { input: 'fine', spans }, ['x']] });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        traces_count: 1,
        spans_count: 3,
        records_count: 4,
        refused_count: 4,
        refused: [
          { index: 0, id: null, message: expect.stringMatching(/^0: .*expected object, received number/) },
          { index: 1, id: null, message: expect.stringMatching(/^1\.spans\.1: .*expected object, received string/) },
          { index: 1, id: null, message: expect.stringMatching(/^1\.spans\.2\.spans\.0: /) },
          { index: 2, id: null },
        ],
      },
    });
    expect(await search('spans')).toHaveLength(3);
    expect((await get('/ingest_counters')).body).toMatchObject({ accepted_records: 8, stored_records: 4, rejected_records: 4 });

    const below = { trace_id: newId(), parent_id: newId() };
    expect(await post('/spans', { ...below, spans: [{ type: 'tool' }, 1] })).toMatchObject({
      status: 200,
      body: { records_count: 1, refused: [{ index: 1 }] },
    });
  });

  test('is 422 where there is nothing else', async () => {
    const { post, search } = service.space();
    expect(await post('/traces', { traces: [7, null] })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'traces', 0] }, { loc: ['body', 'traces', 1] }] },
    });
    expect(await search('traces')).toEqual([]);
  });

  test('is named a thousand times at most, and counted to the last', async () => {
    const { post } = service.space();
    const { body } = await post('/traces', { traces: [{ input: 'q' }, ...Array.from({ length: 3_000 }, () => 0)] });
    expect(body).toMatchObject({ traces_count: 1, refused_count: 3_000 });
    expect(body.refused).toHaveLength(1_000);
  });
});
