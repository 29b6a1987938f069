// A service of its own: it has room for eight held updates, so that the ninth is refused.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ HELD_UPDATES: '8', HELD_UPDATES_MB: '1' });
});
afterAll(() => service[Symbol.asyncDispose]());

interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
  body: any;
}

async function space() {
  const { id: projectId, name } = await service.project();
  const at = `/projects/${projectId}`;
  const send = async (method: string, path: string, body?: object): Promise<Answer> =>
    service.request(method, `${at}${path}`, body);
  const { body: stream } = await send('POST', '/log_streams', { name: 'stream' });
  const inRun = (json: object) => ({ log_stream_id: stream.id, ...json });
  return {
    projectId,
    projectName: name,
    runId: stream.id as string,
    send,
    post: (path: string, json: object) => send('POST', path, inRun(json)),
    updateTrace: (id: string, json: object) => send('PATCH', `/traces/${id}`, inRun({ trace_id: id, ...json })),
    updateSpan: (id: string, json: object) => send('PATCH', `/spans/${id}`, inRun({ span_id: id, ...json })),
    trace: async (id: string) => (await send('GET', `/traces/${id}`)).body,
    counters: async () => (await send('GET', '/ingest_counters')).body,
  };
}

test('updates that come before their records are applied with them, in order of arrival', async () => {
  const { post, updateTrace, updateSpan, trace, counters, ...where } = await space();
  const [id, spanId] = [newId(), newId()];
  const first = await updateTrace(id, { output: 'half', tags: ['b'], metrics: { score: 0.25 } });
  expect(first).toMatchObject({ status: 200 });
  expect(first.body).toEqual({
    log_stream_id: where.runId,
    experiment_id: null,
    metrics_testing_id: null,
    project_id: where.projectId,
    project_name: where.projectName,
    session_id: null,
    records_count: 0,
    trace_id: id,
  });
  expect(
    (await updateTrace(id, { output: 'done', status_code: 200, duration_ns: 7, is_complete: true })).body.records_count,
  ).toBe(0);
  expect((await updateSpan(spanId, { output: 'found', tags: ['x'] })).body).toMatchObject({ records_count: 0, span_id: spanId });
  expect(await counters()).toMatchObject({
    accepted_records: 3,
    stored_records: 0,
    held_records: 3,
    rejected_records: 0,
    records_under_way: 0,
    held_updates: { updates: 3, updates_limit: 8, bytes_limit: 1024 * 1024 },
  });

  const logged = { id, input: 'q', output: 'begun', tags: ['a'], status_code: 500, metrics: { duration_ns: 1, score: 1 } };
  const spans = [{ type: 'retriever', id: spanId, input: 'where' }];
  await post('/traces', { traces: [{ ...logged, spans }], is_complete: false });
  const expected = {
    input: 'q',
    output: 'done',
    tags: ['a', 'b'],
    status_code: 200,
    is_complete: true,
    metrics: { duration_ns: 7, score: 0.25 },
    metric_info: { score: { value: 0.25 } },
    spans: [{ output: [{ content: 'found' }], tags: ['x'] }],
  };
  expect(await trace(id)).toMatchObject(expected);
  expect(await counters()).toMatchObject({
    accepted_records: 5,
    stored_records: 2,
    held_records: 3,
    held_updates: { updates: 0, bytes: 0 },
  });

  // A repeat takes nothing of them back, as with updates that came later.
  await post('/traces', { traces: [{ ...logged, spans }], is_complete: false });
  expect(await trace(id)).toMatchObject(expected);
  // From now on updates are made at once, and those that were held are not made again.
  expect((await updateTrace(id, { output: 'later' })).body.records_count).toBe(1);
  await post('/traces', { traces: [{ ...logged, spans }], is_complete: false });
  expect(await trace(id)).toMatchObject({ ...expected, output: 'later' });
});

test('an update and its record that are sent at once come to the same, whichever is first', async () => {
  const { post, updateTrace, trace, counters } = await space();
  for (let round = 0; round < 10; round++) {
    const id = newId();
    const sends = [
      () => updateTrace(id, { output: 'done', is_complete: true }),
      () => post('/traces', { traces: [{ id, input: 'q', output: 'begun' }], is_complete: false }),
    ];
    const answers = await Promise.all((round % 2 === 0 ? sends : sends.reverse()).map((one) => one()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await trace(id)).toMatchObject({ output: 'done', is_complete: true });
  }
  expect((await counters()).held_updates).toMatchObject({ updates: 0 });
});

test('of a held output what does not fit the kind of its span is kept as text; an update of another kind of record changes nothing', async () => {
  const { post, updateTrace, updateSpan, trace, counters } = await space();
  const [id, tool, notTrace] = [newId(), newId(), newId()];
  const message = { content: 'x', role: 'assistant' };
  await updateSpan(tool, { output: message, status_code: 201 });
  await updateTrace(notTrace, { output: 'lost' });
  await post('/traces', {
    traces: [
      {
        id,
        spans: [
          { type: 'tool', id: tool },
          { type: 'tool', id: notTrace, output: 'kept' },
        ],
      },
    ],
  });
  expect((await trace(id)).spans).toMatchObject([{ output: JSON.stringify(message), status_code: 201 }, { output: 'kept' }]);
  expect((await counters()).held_updates).toMatchObject({ updates: 0 });
});

test.each(['stored', 'early'])('an odd value of an update whose record is %s costs nothing else of it', async (when) => {
  const { post, updateTrace, updateSpan, trace } = await space();
  const [id, llm] = [newId(), newId()];
  const log = () => post('/traces', { traces: [{ id, spans: [{ type: 'llm', id: llm }] }], is_complete: false });
  if (when === 'stored') await log();
  const odd = { status_code: 'OK', duration_ns: 'NaN', metrics: { cost: '0.5', score: 1, num_input_tokens: 'few' } };
  const answers = [
    await updateTrace(id, { output: 'o', is_complete: 'true', ...odd }),
    await updateSpan(llm, { output: 'o', tags: ['t'], ...odd }),
  ];
  if (when === 'early') await log();
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const body = await trace(id);
  const kept = { status_code: 'OK', duration_ns: 'NaN' };
  expect(body).toMatchObject({ output: 'o', is_complete: true, metrics: { cost: 0.5, score: 1 }, user_metadata: kept });
  expect(body.spans).toMatchObject([
    {
      output: { role: 'assistant', content: 'o' },
      tags: ['t'],
      metrics: { cost: 0.5, score: 1 },
      user_metadata: { ...kept, 'metrics.num_input_tokens': 'few' },
    },
  ]);
});

test('records that were deleted are 404 as ever, and take nothing of before when they are logged anew', async () => {
  const { post, updateTrace, updateSpan, trace, send, runId, counters } = await space();
  const remove = (filters?: object[]) =>
    send('POST', '/traces/delete', { log_stream_id: runId, ...(filters ? { filters } : {}) });
  const byId = (value: string) => [{ type: 'id', column_id: 'id', operator: 'eq', value }];
  const [id, spanId] = [newId(), newId()];
  const log = () => post('/traces', { traces: [{ id, input: 'q', spans: [{ type: 'tool', id: spanId }] }] });
  await updateTrace(id, { output: 'first' });
  await log();
  expect((await remove(byId(id))).body.message).toBe('2 records deleted');
  expect(await updateTrace(id, { output: 'second' })).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining(id) },
  });
  expect((await updateSpan(spanId, { output: 'second' })).status).toBe(404);
  await log();
  expect(await trace(id)).toMatchObject({ output: null, spans: [{ output: null }] });
  expect((await updateTrace(id, { output: 'third' })).body.records_count).toBe(1);

  // Deleted while the update waits: by its id, and with the whole run.
  const leaf = (of: string) => byId(of)[0] as object;
  for (const filters of [
    (of: string) => byId(of),
    () => undefined,
    (of: string) => [leaf(of), leaf(of)],
    (of: string) => [{ or: [leaf(newId()), { and: [leaf(of)] }] }],
  ]) {
    const late = newId();
    await updateTrace(late, { output: 'held' });
    await remove(filters(late));
    expect((await counters()).held_updates).toMatchObject({ updates: 0 });
    await post('/traces', { traces: [{ id: late, input: 'q' }] });
    expect(await trace(late)).toMatchObject({ output: null });
  }
  // Another filter says nothing of a record that has not come.
  const other = newId();
  await updateTrace(other, { output: 'held' });
  await remove([{ type: 'text', column_id: 'input', operator: 'eq', value: 'q' }]);
  expect((await counters()).held_updates).toMatchObject({ updates: 1 });
});

test('held updates are those of their run, and go with it', async () => {
  const { post, updateTrace, trace, send, runId, counters } = await space();
  const { body: second } = await send('POST', '/log_streams', { name: 'second' });
  const [id, other] = [newId(), newId()];
  await updateTrace(id, { output: 'done' });
  await updateTrace(other, { output: 'done' });
  await send('POST', '/traces', { log_stream_id: second.id, traces: [{ id, input: 'q' }] });
  expect(await trace(id)).toMatchObject({ output: null });
  await post('/traces', { traces: [{ id: other, input: 'q' }] });
  expect(await trace(other)).toMatchObject({ output: 'done' });
  expect((await counters()).held_updates).toMatchObject({ updates: 1 });
  await send('DELETE', `/log_streams/${runId}`);
  expect((await counters()).held_updates).toMatchObject({ updates: 0 });
  expect((await updateTrace(newId(), { output: 'done' })).status).toBe(404);
});

test('an experiment takes updates before their records, too', async () => {
  const { send, trace } = await space();
  const { body: experiment } = await send('POST', '/experiments', { name: 'filled by a client' });
  const id = newId();
  const inRun = { experiment_id: experiment.id };
  expect((await send('PATCH', `/traces/${id}`, { ...inRun, trace_id: id, output: 'done' })).body).toMatchObject({
    experiment_id: experiment.id,
    records_count: 0,
  });
  await send('POST', '/traces', { ...inRun, traces: [{ id, input: 'q' }] });
  expect(await trace(id)).toMatchObject({ output: 'done' });
});

test('beyond the bound an update is refused with 503 until others have gone, and other projects keep theirs', async () => {
  const { post, updateTrace, trace, counters } = await space();
  const ids = Array.from({ length: 10 }, () => newId());
  const answers = await Promise.all(ids.map((id) => updateTrace(id, { output: 'done' })));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(8).fill(200), 503, 503]);
  const refused = answers.find(({ status }) => status === 503);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await counters()).toMatchObject({ held_records: 8, rejected_records: 2, held_updates: { updates: 8 } });
  const elsewhere = await space();
  expect((await elsewhere.updateTrace(newId(), { output: 'done' })).status).toBe(200);

  const isHeld = (_id: string, index: number) => answers[index]?.status === 200;
  await post('/traces', { traces: ids.map((id) => ({ id, input: 'q' })) });
  for (const [index, id] of ids.entries()) expect((await trace(id)).output).toBe(isHeld(id, index) ? 'done' : null);
  const long = 'x'.repeat(600_000);
  const statuses = [];
  for (const id of [newId(), newId()]) statuses.push((await updateTrace(id, { output: long })).status);
  expect(statuses).toEqual([200, 503]);
});

test('who may not log into a project cannot leave updates there', async () => {
  const { projectId, runId, counters } = await space();
  const id = newId();
  const headers = { 'Service-API-Key': 'no such key' };
  const body = { log_stream_id: runId, trace_id: id, output: 'done' };
  expect((await service.request('PATCH', `/projects/${projectId}/traces/${id}`, body, headers)).status).toBe(401);
  expect((await counters()).held_updates).toMatchObject({ updates: 0 });
});
