import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/ids.ts';
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
