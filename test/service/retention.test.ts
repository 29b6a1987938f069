import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { createExpiries } from '../../shared/projects/retention.ts';
import { SWEEP_SCHEDULE } from '../../shared/records/sweepWorkflow.ts';
import { connectTemporal } from '../../shared/stores/temporal/connect.ts';
import { gate } from '../support/deletionStores.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let temporal: Awaited<ReturnType<typeof connectTemporal>>;
beforeAll(async () => {
  service = await sharedTestService();
  temporal = await connectTemporal({ address: service.temporalAddress, namespace: 'default' });
});
afterAll(async () => {
  await temporal?.connection.close();
  await service?.[Symbol.asyncDispose]();
});

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * HOUR).toISOString();

type Found = { id: string };
const idsOf = (records: Found[]) => records.map(({ id }) => id).sort();

/** A trace that began so many hours ago, with a span of its own age. */
function trace(name: string, began: number, spanBegan = began, over: object = {}) {
  const span = { type: 'tool', id: newId(), name: `span of ${name}`, input: 'x', created_at: ago(spanBegan) };
  return { id: newId(), name, input: 'q', output: 'a', created_at: ago(began), spans: [span], ...over };
}
type Trace = ReturnType<typeof trace>;
const all = (...traces: Trace[]) => idsOf(traces);
const spansOf = (...traces: Trace[]) => idsOf(traces.flatMap(({ spans }) => spans));

/** A project with a run that holds traces older and newer than a day, and one that began before that and has gone on since. */
async function filled(kind: 'log_stream' | 'experiment' = 'log_stream') {
  const { id: projectId } = await service.project();
  const at = `/projects/${projectId}`;
  const path = kind === 'log_stream' ? `${at}/log_streams` : `${at}/experiments`;
  const { body: run } = await service.request('POST', path, { name: 'run' });
  const runId = (run as Found).id;
  const named = { [`${kind}_id`]: runId };
  const post = async (to: string, body: object): Promise<never> => {
    const reply = await service.request('POST', `${at}${to}`, { ...named, ...body });
    expect([to, reply.status, reply.status === 200 ? '' : reply.body]).toEqual([to, 200, '']);
    return reply.body;
  };
  const session = async (name: string) => ((await post('/sessions', { name })) as Found).id;
  const [oldSession, liveSession] = [await session('old'), await session('live')];
  const old = trace('old', 72, 71.9, { metrics: { only_old: 1, score: 1 } });
  const oldInSession = trace('old in a session', 50);
  const begun = trace('begun', 25, 23, { metrics: { score: 2 } });
  const fresh = trace('fresh', 1, 1, { metrics: { score: 3 } });
  const clockAhead = trace('clock ahead', -0.5);
  await post('/traces', { traces: [old, fresh, clockAhead] });
  await post('/traces', { session_id: oldSession, traces: [oldInSession] });
  await post('/traces', { session_id: liveSession, traces: [begun] });
  const search = async (what: string) => ((await post(`/${what}/search`, { limit: 1_000 })) as { records: Found[] }).records;
  return {
    ...{ projectId, runId, at, post, search, old, oldInSession, begun, fresh, clockAhead, oldSession, liveSession },
    retain: (days: number | null) => service.request('PUT', `${at}/retention`, { retention_days: days }),
    get: async (what: string) => (await service.request('GET', `${at}${what}`)).status,
  };
}

describe('the retention of a project', () => {
  test('is for ever at first, is changed, and refused when it is none', async () => {
    const { at, retain, projectId } = await filled();
    expect((await service.request('GET', `${at}/retention`)).body).toEqual({
      project_id: projectId,
      retention_days: null,
      expired_before: null,
    });
    const { body } = await retain(30);
    expect(body).toMatchObject({ retention_days: 30 });
    const before = Date.parse((body as { expired_before: string }).expired_before);
    expect(Math.abs(Date.now() - 30 * 24 * HOUR - before)).toBeLessThan(60_000);
    for (const wrong of [0, -1, 1.5, 36_501, '7', {}]) expect((await retain(wrong as number)).status).toBe(422);
    expect((await service.request('PUT', `${at}/retention`, {})).status).toBe(422);
    expect((await service.request('GET', `/projects/${newId()}/retention`)).status).toBe(404);
    expect((await service.request('GET', `${at}/retention`)).body).toMatchObject({ retention_days: 30 });
  });

  test('hides what is older from every read at once, whole traces at a time, and shows it again while it is there', async () => {
    const is = await filled();
    const { old, oldInSession, begun, fresh, clockAhead } = is;
    expect(idsOf(await is.search('traces'))).toEqual(all(old, oldInSession, begun, fresh, clockAhead));
    await is.retain(1);
    const kept = [begun, fresh, clockAhead];

    expect(idsOf(await is.search('traces'))).toEqual(all(...kept));
    expect(idsOf(await is.search('spans'))).toEqual(spansOf(...kept));
    expect(idsOf(await is.search('sessions'))).toEqual([is.oldSession, is.liveSession].sort()); // opened just now
    for (const [what, count] of [
      ['traces', 3],
      ['spans', 3],
    ] as const)
      expect(await is.post(`/${what}/count`, {})).toEqual({ total_count: count });
    const partial = { select_columns: { column_ids: ['name'], include_all_metrics: true, include_all_feedback: false } };
    expect(((await is.post('/traces/partial_search', partial)) as { num_rows: number }).num_rows).toBe(3);
    // Page by page, each behind the last record of the one before.
    for (const [what, ids] of [
      ['traces', all(...kept)],
      ['spans', spansOf(...kept)],
      ['sessions', [is.oldSession, is.liveSession].sort()],
    ] as const)
      for (const sort of [undefined, { column_id: 'name', ascending: true }]) {
        const found: string[] = [];
        for (let after: string | null = null; found.length < ids.length; after = found.at(-1) ?? null) {
          const page = { limit: 1, previous_last_row_id: after, ...(sort && { sort }) };
          const { records } = (await is.post(`/${what}/search`, page)) as { records: [Found] };
          found.push(records[0].id);
        }
        expect(found.sort()).toEqual(ids);
      }
    const byMetric = {
      filters: [{ type: 'number', column_id: 'metrics/score', operator: 'gte', value: 0 }],
      sort: { column_id: 'metrics/score', ascending: true },
    };
    expect(await is.post('/traces/search', byMetric)).toMatchObject({
      num_rows: 2,
      records: [{ id: begun.id }, { id: fresh.id }],
    });
    const byId = { filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: old.id }] };
    expect(await is.post('/traces/search', byId)).toMatchObject({ num_rows: 0, records: [] });
    const counted = (await is.post('/traces/search', { include_counts: true })) as {
      records: (Found & { num_spans?: number })[];
    };
    expect(counted.records).toHaveLength(3);

    for (const [one, status] of [
      [old, 404],
      [oldInSession, 404],
      [begun, 200],
      [fresh, 200],
    ] as const) {
      expect([one.name, await is.get(`/traces/${one.id}`)]).toEqual([one.name, status]);
      expect([one.name, await is.get(`/spans/${one.spans[0]?.id}`)]).toEqual([one.name, status]);
    }
    const session = (await service.request('GET', `${is.at}/sessions/${is.oldSession}`)).body as { traces: Found[] };
    expect(session.traces).toEqual([]);

    const range = { start_time: ago(24 * 7), end_time: ago(-2), interval: 60 };
    const overview = (await is.post('/metrics/search/v2', range)) as { aggregate_metrics: Record<string, unknown> };
    expect(overview.aggregate_metrics).toMatchObject({ requests_count: 3, score: 2.5 });
    expect(overview.aggregate_metrics).not.toHaveProperty('only_old');
    const { columns } = (await is.post('/traces/available_columns', {})) as { columns: Found[] };
    expect(columns.map(({ id }) => id)).toContain('metrics/score');
    expect(columns.map(({ id }) => id)).not.toContain('metrics/only_old');
    expect(await is.post('/traces/aggregated', {})).toMatchObject({ num_traces: 3, has_all_traces: true });
    for (const [root_type, names] of [
      ['trace', ['begun', 'clock ahead', 'fresh']],
      ['session', ['live', 'old']],
    ] as const) {
      const reply = await fetch(`${service.url}${is.at}/export_records`, {
        method: 'POST',
        headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ log_stream_id: is.runId, root_type, export_format: 'jsonl' }),
      });
      const lines = (await reply.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines.map(({ name }) => name).sort()).toEqual(names);
      expect(JSON.stringify(lines)).not.toContain(old.id);
      expect(JSON.stringify(lines)).not.toContain(oldInSession.id);
    }
    const { body: streams } = await service.request('GET', `${is.at}/log_streams?include_record_counts=true&include_counts=true`);
    expect(JSON.stringify(streams)).toContain('3');

    await is.retain(null);
    expect(idsOf(await is.search('traces'))).toEqual(all(old, ...kept, oldInSession));
    await is.retain(2);
    expect(idsOf(await is.search('traces'))).toEqual(all(...kept));
    await is.retain(3);
    expect(idsOf(await is.search('traces'))).toEqual(all(oldInSession, ...kept, old)); // its span is a little younger than three days
  });

  test('holds for experiments too', async () => {
    const is = await filled('experiment');
    await is.retain(1);
    expect(idsOf(await is.search('traces'))).toEqual(all(is.begun, is.fresh, is.clockAhead));
    const buckets = await service.request('GET', `${is.at}/experiments/${is.runId}`);
    expect(buckets.status).toBe(200);
  });

  test('a trace that a late span joins is whole again', async () => {
    const is = await filled();
    await is.retain(1);
    expect(await is.get(`/traces/${is.old.id}`)).toBe(404);
    const spans = [{ type: 'tool', id: newId(), name: 'late', input: 'x', created_at: ago(0) }];
    await is.post('/spans', { trace_id: is.old.id, parent_id: is.old.id, spans });
    expect(await is.get(`/traces/${is.old.id}`)).toBe(200);
    await expect.poll(async () => idsOf(await is.search('traces'))).toEqual(all(is.old, is.begun, is.fresh, is.clockAhead));
  });
});

describe('the daily sweep', () => {
  const sweep = async () => {
    const schedule = temporal.client.schedule.getHandle(SWEEP_SCHEDULE);
    const known = (await schedule.describe()).info.numActionsTaken;
    await schedule.trigger();
    const taken = async () => (await schedule.describe()).info;
    await expect.poll(async () => (await taken()).numActionsTaken).toBeGreaterThan(known);
    const last = (await taken()).recentActions.at(-1)?.action as { workflow: { workflowId: string } };
    await temporal.client.workflow.getHandle(last.workflow.workflowId).result();
  };

  test('deletes what has expired and nothing else; a longer retention brings nothing back', async () => {
    const [is, other] = [await filled(), await filled()];
    await is.retain(1);
    await sweep();
    await is.retain(null);
    expect(idsOf(await is.search('traces'))).toEqual(all(is.begun, is.fresh, is.clockAhead));
    expect(idsOf(await is.search('spans'))).toEqual(spansOf(is.begun, is.fresh, is.clockAhead));
    expect(idsOf(await is.search('sessions'))).toEqual([is.oldSession, is.liveSession].sort());
    expect(idsOf(await other.search('traces'))).toHaveLength(5); // its project keeps everything
    // A client may log a swept trace anew.
    await is.post('/traces', { traces: [{ ...is.old, created_at: ago(1) }] });
    expect(await is.get(`/traces/${is.old.id}`)).toBe(200);
    await is.retain(1);
    await sweep();
    expect(idsOf(await is.search('traces'))).toEqual(all(is.begun, is.fresh, is.clockAhead, is.old));
  });
});

test('looking for what is kept holds up nobody but the first who asks; a change counts at once', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1_000); // to lru-cache the time 0 is none
  let days: number | null = 1;
  let searches = 0;
  let search = gate();
  search.open();
  const expiries = createExpiries({
    store: { get: async () => ({ days, expiredBefore: days === null ? null : `${days} days before ${performance.now()}` }) },
    async straddling() {
      searches++;
      await search.pass();
      return [`found by search ${searches}`];
    },
  });
  const ask = () => expiries.of('project', ['run']);
  expect(await ask()).toEqual({ before: '1 days before 1000', kept: ['found by search 1'] });
  vi.advanceTimersByTime(1_500);
  expect((await ask())?.kept).toEqual(['found by search 1']);
  expect(searches).toBe(1);

  vi.advanceTimersByTime(1_500);
  search = gate();
  expect(await ask()).toEqual({ before: '1 days before 1000', kept: ['found by search 1'] }); // the time that belongs to it
  expect(await ask()).toMatchObject({ kept: ['found by search 1'] });
  expect(searches).toBe(2);
  search.open();
  await expect.poll(async () => (await ask())?.kept).toEqual(['found by search 2']);
  expect((await ask())?.before).toBe('1 days before 4000');

  // After a long silence what was known is too old.
  vi.advanceTimersByTime(3_600_000);
  expect((await ask())?.kept).toEqual(['found by search 3']);
  days = null;
  expiries.forget();
  expect(await ask()).toBeUndefined();
  expect(await expiries.before('project')).toBeUndefined();
});
