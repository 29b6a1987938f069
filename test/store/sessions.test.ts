import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

test('a session is opened, found by its external id and read with its traces and their spans', async () => {
  const { post, get, run } = service.space();
  const previous = newId();
  const opened = await post('/sessions', {
    name: 'chat',
    external_id: 'user-7',
    previous_session_id: previous,
    user_metadata: { plan: 'pro' },
  });
  expect(opened.body).toEqual({
    id: expect.any(String),
    name: 'chat',
    project_id: run.projectId,
    project_name: 'Test project',
    previous_session_id: previous,
    external_id: 'user-7',
  });
  const id = opened.body.id;
  for (const key of ['name', 'column_id']) {
    const found = await post('/sessions/search', {
      filters: [{ type: 'text', [key]: 'external_id', operator: 'eq', value: 'user-7' }],
      limit: 1,
    });
    expect(found.body.records[0].id).toBe(id);
  }
  const traces = [newId(), newId()];
  const logged = await post('/traces', {
    session_id: id,
    traces: traces.map((trace, i) => ({
      id: trace,
      created_at: `2026-01-0${i + 1}T00:00:00Z`,
      input: `turn ${i}`,
      spans: [{ type: 'tool', input: 'x' }],
    })),
  });
  expect(logged.body.session_id).toBe(id);
  const { body } = await get(`/sessions/${id}`);
  expect(body).toMatchObject({
    type: 'session',
    id,
    session_id: id,
    name: 'chat',
    external_id: 'user-7',
    previous_session_id: previous,
    user_metadata: { plan: 'pro' },
  });
  expect(body.traces).toMatchObject(
    traces.map((trace) => ({ id: trace, session_id: id, spans: [{ type: 'tool', session_id: id }] })),
  );
  expect((await get(`/sessions/${id}?include_children=false`)).body).toEqual({ ...body, traces: [] });
  expect((await get(`/sessions/${traces[0]}?include_children=false`)).status).toBe(404);
});

test('two openers of the same external id meet, in one run and not across runs', async () => {
  const { post, search } = service.space();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => post('/sessions', { external_id: 'same', name: `opener ${i}` })),
  );
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect(new Set(answers.map(({ body }) => body.name)).size).toBe(1);
  expect(await search('sessions')).toHaveLength(1);
  const elsewhere = await service.space().post('/sessions', { external_id: 'same' });
  expect(elsewhere.body.id).not.toBe(answers[0]?.body.id);
});

test('traces open their session by its external id, and join one that is there', async () => {
  const { post, get, search } = service.space();
  const first = await post('/traces', { session_external_id: 'conversation', traces: [{ input: 'a' }] });
  const second = await post('/traces', { session_external_id: 'conversation', traces: [{ input: 'b' }] });
  const opened = await post('/sessions', { external_id: 'conversation' });
  expect(first.body).toMatchObject({ traces_count: 1, records_count: 1, session_id: opened.body.id });
  expect(second.body.session_id).toBe(opened.body.id);
  expect(await search('sessions')).toHaveLength(1);
  expect((await get(`/sessions/${opened.body.id}`)).body.traces).toHaveLength(2);
});

test('a session without a name gets one; without an external id each is another', async () => {
  const { post } = service.space();
  const [one, two] = [await post('/sessions', {}), await post('/sessions', {})];
  expect(one.body.name).toMatch(/^Session \d{4}/);
  expect(one.body.id).not.toBe(two.body.id);
  expect(one.body).toMatchObject({ external_id: null, previous_session_id: null });
  expect((await post('/sessions', { external_id: 'x' })).body.name).toBe('x');
});

test('a trace without a session carries its own id, and so do its spans', async () => {
  const { post, get } = service.space();
  const id = newId();
  expect((await post('/traces', { traces: [{ id, input: 'q', spans: [{ type: 'tool' }] }] })).body.session_id).toBeNull();
  expect((await get(`/traces/${id}`)).body).toMatchObject({ session_id: id, spans: [{ session_id: id }] });
});

test('spans logged on their own are in the session of their trace, whichever comes first', async () => {
  const { post, get } = service.space();
  const { id: session } = (await post('/sessions', { name: 's' })).body;
  const [early, late] = [newId(), newId()];
  await post('/spans', { trace_id: early, parent_id: early, spans: [{ type: 'tool', input: 'before' }] });
  await post('/traces', { session_id: session, traces: [{ id: early, input: 'q' }], is_complete: false });
  await post('/traces', { session_id: session, traces: [{ id: late, input: 'q' }], is_complete: false });
  const after = await post('/spans', { trace_id: late, parent_id: late, spans: [{ type: 'tool', input: 'after' }] });
  expect(after.body.session_id).toBe(session);
  for (const id of [early, late])
    expect((await get(`/traces/${id}`)).body).toMatchObject({ session_id: session, spans: [{ session_id: session }] });
  expect((await get(`/sessions/${session}`)).body.traces).toMatchObject([{ spans: [{}] }, { spans: [{}] }]);
});

test('spans sent before a complete trace with spans of its own are in its session', async () => {
  const { post, get, search } = service.space();
  const { id: session } = (await post('/sessions', { name: 's' })).body;
  const trace = newId();
  await post('/spans', { trace_id: trace, parent_id: trace, spans: [{ type: 'tool', input: 'before' }] });
  await post('/traces', { session_id: session, traces: [{ id: trace, input: 'q', spans: [{ type: 'tool', input: 'nested' }] }] });
  const spans = await search('spans', [{ type: 'id', column_id: 'session_id', operator: 'eq', value: session }]);
  expect(spans.map(({ input }: { input: string }) => input).sort()).toEqual(['before', 'nested']);
  const [read] = (await get(`/sessions/${session}`)).body.traces;
  expect(read).toMatchObject({ id: trace, spans: [{ session_id: session }, { session_id: session }] });
});

test('a span that went to another trace stays there when its first trace gets a session', async () => {
  const { post, get } = service.space();
  const { id: session } = (await post('/sessions', { name: 's' })).body;
  const [from, to, span] = [newId(), newId(), newId()];
  const moved = (trace_id: string) => ({ trace_id, parent_id: trace_id, spans: [{ type: 'tool', id: span, input: 'x' }] });
  await post('/spans', moved(from));
  await post('/spans', moved(to));
  await post('/traces', { session_id: session, traces: [{ id: from, input: 'q' }] });
  expect((await get(`/traces/${from}`)).body.spans).toEqual([]);
  expect((await get(`/spans/${span}`)).body).toMatchObject({ trace_id: to });
});

test('a trace or span that moved counts where it is, not where it was', async () => {
  const { post, run } = service.space();
  const [first, second] = [(await post('/sessions', { name: 'a' })).body.id, (await post('/sessions', { name: 'b' })).body.id];
  const [trace, other, span, below] = [newId(), newId(), newId(), newId()];
  const at = (session_id: string) => ({ session_id, traces: [{ id: trace, input: 'q' }, { input: 'stays' }] });
  await post('/traces', at(first));
  await post('/traces', {
    session_id: second,
    traces: [
      { id: trace, input: 'q' },
      { id: other, input: 'other' },
    ],
  });
  await post('/spans', { trace_id: trace, parent_id: trace, spans: [{ type: 'workflow', id: span, input: 'above' }] });
  await post('/spans', { trace_id: trace, parent_id: span, spans: [{ type: 'tool', id: below, input: 'below' }] });
  await post('/spans', { trace_id: other, parent_id: other, spans: [{ type: 'tool', id: below, input: 'below' }] });
  const search = async (what: string): Promise<Map<string, Record<string, unknown>>> => {
    const json = { log_stream_id: run.runId, filters: [], limit: 100, include_counts: true };
    const { body } = await service.http.request('POST', `/projects/${run.projectId}/${what}/search`, { json });
    return new Map(body.records.map((record: { id: string }) => [record.id, record]));
  };
  const [sessions, traces, spans] = [await search('sessions'), await search('traces'), await search('spans')];
  expect([first, second].map((id) => sessions.get(id)?.num_traces)).toEqual([1, 2]);
  expect([trace, other].map((id) => traces.get(id)?.num_spans)).toEqual([1, 1]);
  expect(spans.get(span)).toMatchObject({ has_children: false });
});

test('a session that traces opened by naming it goes when they have left it for another one; one that a caller opened stays', async () => {
  const { post } = service.space();
  const external = async () =>
    (await post('/sessions/search', {})).body.records.map(({ external_id }: { external_id: string }) => external_id).sort();
  const [first, second] = [newId(), newId()];
  const logIn = (session: string, ...ids: string[]) =>
    post('/traces', { session_external_id: session, traces: ids.map((id) => ({ id, input: 'q' })) });
  await logIn('named by traces', first, second);
  await post('/sessions', { external_id: 'opened' });
  await logIn('opened', newId());
  expect(await external()).toEqual(['named by traces', 'opened']);
  await logIn('opened', first);
  expect(await external()).toEqual(['named by traces', 'opened']);
  await logIn('next', first, second);
  await expect.poll(external).toEqual(['next', 'opened']);

  const alone = newId();
  await logIn('claimed', alone);
  await post('/sessions', { external_id: 'claimed' });
  await logIn('next', alone);
  await post('/sessions', { external_id: 'empty' });
  expect(await external()).toEqual(['claimed', 'empty', 'next', 'opened']);
});
