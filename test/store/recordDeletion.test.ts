import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { deleteStraySpans } from '../../shared/records/delete.ts';
import { logTraces } from '../../shared/records/ingest.ts';
import { clickhouseRunCounts } from '../../shared/stores/clickhouse/reads/runCounts.ts';
import { clickhouseDeleteRecords, straySpans } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

const idIs = (id: string) => [{ type: 'id', column_id: 'id', operator: 'eq', value: id }];
const traceWithSpan = (name: string) => ({
  id: newId(),
  name,
  input: 'q',
  metrics: { score: 1 },
  spans: [{ type: 'tool', id: newId(), name, input: 'x' }],
});

test('traces that match go with their spans and scores; the others stay', async () => {
  const { post, get, search, run } = service.space();
  const [gone, kept] = [traceWithSpan('gone'), traceWithSpan('kept')];
  await post('/traces', { traces: [gone, kept] });
  await post('/traces', { traces: [{ ...gone, output: 'a second version' }] });
  const deleted = await post('/traces/delete', { filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'gone' }] });
  expect(deleted).toMatchObject({ status: 200, body: { message: '2 records deleted' } });
  expect((await get(`/traces/${gone.id}`)).status).toBe(404);
  expect((await get(`/spans/${gone.spans[0]?.id}`)).status).toBe(404);
  expect((await search('traces')).map((record: { id: string }) => record.id)).toEqual([kept.id]);
  expect(await search('spans')).toHaveLength(1);
  expect(await service.metricValues.of(run, [gone.id, kept.id])).toMatchObject([{ recordId: kept.id }]);
});

test('an id can be logged anew after it was deleted, with another time and without what was there', async () => {
  const { post, get } = service.space();
  const trace = traceWithSpan('again');
  await post('/traces', { traces: [{ ...trace, created_at: '2026-01-01T00:00:00Z', output: 'old' }] });
  await post('/traces/delete', { filters: idIs(trace.id) });
  const fresh = { ...trace, created_at: '2026-02-02T00:00:00Z' };
  await post('/traces', { traces: [fresh] });
  expect((await get(`/traces/${trace.id}`)).body).toMatchObject({
    created_at: '2026-02-02T00:00:00.000000Z',
    output: null,
    spans: [{ name: 'again' }],
  });
  await post('/traces/delete', { filters: idIs(trace.id) });
  await post('/traces', { traces: [fresh] });
  expect((await get(`/traces/${trace.id}`)).status).toBe(200);
});

test('a filter looks at the newest version only', async () => {
  const { post, patch, search } = service.space();
  const trace = traceWithSpan('x');
  await post('/traces', { traces: [{ ...trace, status_code: 500 }] });
  await patch(`/traces/${trace.id}`, { trace_id: trace.id, status_code: 200 });
  const failed = [{ type: 'number', column_id: 'status_code', operator: 'eq', value: 500 }];
  expect((await post('/traces/delete', { filters: failed })).body.message).toBe('0 records deleted');
  expect(await search('traces')).toHaveLength(1);
});

test('a span goes with the spans below it, its siblings and its trace stay', async () => {
  const { post, get } = service.space();
  const [trace, a, b, c] = [newId(), newId(), newId(), newId()];
  const spans = [
    { type: 'workflow', id: a, spans: [{ type: 'workflow', id: newId(), spans: [{ type: 'tool', id: b }] }] },
    { type: 'tool', id: c },
  ];
  await post('/traces', { traces: [{ id: trace, input: 'q', spans }] });
  expect((await post('/spans/delete', { filters: idIs(a) })).body.message).toBe('3 records deleted');
  expect((await get(`/traces/${trace}`)).body.spans).toMatchObject([{ id: c }]);
});

test('a session goes with its traces; without a filter everything of the kind goes', async () => {
  const { post, search } = service.space();
  const { id } = (await post('/sessions', { name: 's' })).body;
  await post('/traces', { session_id: id, traces: [traceWithSpan('in')] });
  await post('/traces', { traces: [traceWithSpan('out'), traceWithSpan('out')] });
  await post('/sessions/delete', { filters: idIs(id) });
  expect(await search('sessions')).toEqual([]);
  expect(await search('traces')).toHaveLength(2);
  expect((await post('/traces/delete', {})).body.message).toBe('4 records deleted');
  expect(await search('spans')).toEqual([]);
});

test('writes beside a deletion are kept', async () => {
  const { post, search } = service.space();
  const toDelete = Array.from({ length: 50 }, () => traceWithSpan('to delete'));
  await post('/traces', { traces: toDelete });
  const [deleted, ...written] = await Promise.all([
    post('/traces/delete', { filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'to delete' }] }),
    ...Array.from({ length: 20 }, () => post('/traces', { traces: [traceWithSpan('new')] })),
  ]);
  expect(deleted?.body.message).toBe('100 records deleted');
  expect(written.every(({ status }) => status === 200)).toBe(true);
  expect(await search('traces')).toHaveLength(20);
  expect(await search('spans')).toHaveLength(20);
});

test('runs and projects are counted, and go as a whole', async () => {
  const count = clickhouseRunCounts(service.clickhouse, async () => undefined);
  const remove = clickhouseDeleteRecords(service.clickhouse);
  const [first, second] = [service.space(), service.space()];
  const traces = () => ({ traces: [traceWithSpan('a'), traceWithSpan('b')] });
  await first.post('/traces', traces());
  await first.post('/sessions', { name: 's' });
  await second.post('/traces', traces());
  const { projectId, runId } = first.run;
  expect(await count(projectId, [runId, second.run.runId])).toEqual(
    new Map([[runId, { traces: 2, spans: 2, sessions: 1, newestAt: expect.any(String) }]]),
  );
  await remove(projectId, runId);
  expect(await count(projectId, [runId])).toEqual(new Map());
  await remove(projectId, runId);
  await remove(second.run.projectId);
  expect(await second.search('traces')).toEqual([]);
});

test('an experiment row: the higher attempt stands, its strays go, and a late lower one changes nothing', async () => {
  const { run, get } = service.space();
  const [id, shared, onlyFirst] = [newId(), newId(), newId()];
  const tidy = () => deleteStraySpans(service.deletion, (of) => straySpans(service.clickhouse, of), run);
  const row = (output: string, spans: string[], error_message = '') => [
    {
      type: 'trace' as const,
      id,
      input: 'q',
      output,
      error_message,
      metrics: { numeric_match: 1 },
      spans: spans.map((span) => ({ type: 'tool' as const, id: span, input: output })),
    },
  ];
  await logTraces(service.writer, run, row('first', [shared, onlyFirst], 'it broke'), { attempt: 10_000 });
  await logTraces(service.writer, run, row('second', [shared]), { attempt: 10_001 });
  await logTraces(service.writer, run, row('zombie', [shared, onlyFirst]), { attempt: 10_000 });
  expect(await tidy()).toBe(1);
  // The clean-up runs once: a write after it must leave nothing, neither under known ids nor under new ones.
  await logTraces(service.writer, run, row('zombie', [shared, onlyFirst, newId()]), { attempt: 10_000 });
  const { body } = await get(`/traces/${id}`);
  expect(body).toMatchObject({ output: 'second', error_message: '', is_complete: true, metrics: { numeric_match: 1 } });
  expect(body.spans).toMatchObject([{ id: shared, input: 'second' }]);
  expect(await tidy()).toBe(0);
});

test('without a filter all of the run goes: sessions, and spans whose trace never came, too', async () => {
  const { post, search } = service.space();
  const sessionId = newId();
  await post('/sessions', { name: 'talk', external_id: 'talk' });
  await post('/traces', { traces: [traceWithSpan('one')], session_id: sessionId });
  const traceId = newId();
  await post('/spans', { trace_id: traceId, parent_id: traceId, spans: [{ type: 'tool', input: 'x' }] });
  const deleted = await post('/traces/delete', {});
  expect(deleted).toMatchObject({ status: 200, body: { message: '4 records deleted' } });
  for (const kind of ['traces', 'spans', 'sessions'] as const) expect(await search(kind)).toEqual([]);
});
