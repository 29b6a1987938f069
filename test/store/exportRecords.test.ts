import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { exportFlat, exportNested } from '../../shared/records/exportRecords.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import type { RecordReads } from '../../shared/records/searchRecords.ts';
import { readParquet } from '../support/readParquet.ts';
import { startSearchService } from '../support/searchService.ts';

interface Exported {
  id: string;
  name: string;
  traces: Exported[];
  metric_info: unknown;
}

let service: Awaited<ReturnType<typeof startSearchService>>;
let first: StoredRecord;
let second: StoredRecord;
let loose: StoredRecord;
let session: StoredRecord;
let unfinished: StoredRecord;
const at = (second: number) => `2026-03-01T12:00:${String(second).padStart(2, '0')}.000001Z`;

beforeAll(async () => {
  service = await startSearchService();
  session = service.record({ type: 'session', name: 'chat', created_at: at(0) });
  unfinished = service.record({ type: 'session', name: 'still going', created_at: at(1) });
  const secret = { input: 'call +49 30 1234', redacted_input: 'call [phone]', output: 'done', redacted_output: '' };
  first = service.record({
    ...secret,
    name: 'first',
    session_id: session.id,
    created_at: at(2),
    tags: ['a', 'b'],
    status_code: 0,
  });
  second = service.record({
    name: 'say "hi",\nline',
    session_id: session.id,
    created_at: at(3),
    user_metadata: { plan: 'free' },
  });
  loose = service.record({ name: 'loose', created_at: at(4) });
  const open = service.record({ session_id: unfinished.id, name: 'open', created_at: at(5), trace_is_complete: false });
  const below = { trace_id: first.id, session_id: session.id };
  const agent = service.record({ ...below, type: 'agent', name: 'planner', parent_id: first.id, created_at: at(6) });
  const retriever = service.record({
    ...{ ...below, type: 'retriever', name: 'look up', parent_id: agent.id, created_at: at(7), input: 'q' },
    ...{ output: [{ content: 'found' }], redacted_output: [{ content: '' }], metrics: { duration_ns: 5 } },
  });
  await service.store([{ ...first, name: 'an older version', version: 0 }]);
  await service.store([session, unfinished, first, second, loose, open, agent, retriever]);
  await service.score(first, 'toxicity', { status_type: 'success', value: 0.5, metadata: { votes: 3 } } as never, 1);
  await service.score(first, 'polite', { status_type: 'failed', message: 'no' }, 1);
});
afterAll(() => service[Symbol.asyncDispose]());

const exported = async (body: object) => {
  const response = await fetch(`${service.url}/v2/projects/${service.projectId}/export_records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ log_stream_id: service.runId, ...body }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: Buffer.from(bytes).toString() };
};
const lines = async (body: object): Promise<Exported[]> =>
  (await exported(body)).text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

test('traces with their spans, newest first, one a line', async () => {
  const traces = await lines({ root_type: 'trace', export_format: 'jsonl', filters: [], redact: true });
  expect(traces.map(({ name }) => name)).toEqual(['open', 'loose', 'say "hi",\nline', 'first']);
  expect(traces[3]).toMatchObject({
    ...{ type: 'trace', is_complete: true, has_children: true, tags: ['a', 'b'], input: 'call [phone]', output: 'done' },
    metric_info: { toxicity: { status_type: 'success', value: 0.5 }, polite: { status_type: 'failed' } },
    spans: [{ name: 'planner', spans: [{ name: 'look up', output: [{ content: 'found' }] }] }],
  });
  const single = await lines({
    root_type: 'trace',
    redact: false,
    filters: [{ type: 'text', name: 'name', operator: 'eq', value: 'first' }],
  });
  expect(single).toMatchObject([{ input: 'call +49 30 1234', redacted_input: 'call [phone]' }]);
  expect(JSON.stringify(single)).not.toContain('votes');
});

test('sessions with their traces, each with its spans', async () => {
  const sessions = await lines({ root_type: 'session', sort: { column_id: 'created_at', ascending: true } });
  expect(sessions).toMatchObject([
    {
      id: session.id,
      traces: [
        { name: 'first', spans: [{ name: 'planner' }] },
        { name: 'say "hi",\nline', spans: [] },
      ],
    },
    { id: unfinished.id, traces: [{ name: 'open' }] },
  ]);
});

test('only what has been computed: no failed metric, no unfinished session', async () => {
  const only = { export_computed_metrics_only: true, include_code_metric_metadata: true };
  const sessions = await lines({ root_type: 'session', ...only });
  expect(sessions.map(({ id }) => id)).toEqual([session.id]);
  expect(sessions[0]?.traces[0]?.metric_info).toEqual({
    toxicity: { status_type: 'success', value: 0.5, explanation: null, metadata: { votes: 3 } },
  });
  expect(await lines({ root_type: 'trace', ...only })).toHaveLength(4);
});

test('spans are lines of their own, flat rows hold single values', async () => {
  const spans = await lines({ root_type: 'span', sort: { name: 'name', ascending: true } });
  expect(spans.map(({ name }) => name)).toEqual(['look up', 'planner']);
  const flat = await lines({ root_type: 'span', export_format: 'jsonl_flat', sort: { name: 'name', ascending: true } });
  expect(flat[0]).toMatchObject({
    ...{ type: 'retriever', output: '[{"content":"found"}]', user_metadata: '{}', 'metrics/duration_ns': 5, is_complete: true },
    ...{ 'metrics/toxicity': null, tags: '[]' },
  });
});

test('csv has a header and the columns that were asked for, or all', async () => {
  const column_ids = ['name', 'tags', 'status_code', 'user_metadata/plan', 'metrics/toxicity', 'user_metadata'];
  const answer = await exported({ root_type: 'trace', export_format: 'csv', column_ids, file_name: 'mine/ä' });
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''mine%2F%C3%A4.csv");
  const rows = parse(answer.text) as string[][];
  expect(rows).toEqual([
    column_ids,
    ['open', '[]', '', '', '', '{}'],
    ['loose', '[]', '', '', '', '{}'],
    ['say "hi",\nline', '[]', '', 'free', '', '{"plan":"free"}'],
    ['first', '["a","b"]', '0', '', '0.5', '{}'],
  ]);
  const all = parse((await exported({ root_type: 'trace', export_format: 'csv' })).text) as string[][];
  expect(all[0]).toEqual(
    expect.arrayContaining(['input', 'created_at', 'user_metadata', 'metrics/duration_ns', 'metrics/toxicity']),
  );
  expect(all[0]).not.toContain('temperature');
  expect(all).toHaveLength(5);
});

test('parquet has the columns of csv, each of its type', async () => {
  const column_ids = ['name', 'created_at', 'status_code', 'tags', 'metrics/toxicity', 'is_complete', 'user_metadata', 'id'];
  const answer = await exported({ root_type: 'trace', export_format: 'parquet', column_ids, file_name: 'mine' });
  expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet');
  expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''mine.parquet");
  const { columns, rows } = await readParquet(answer.bytes);
  const minute = BigInt(Date.parse('2026-03-01T12:00:00Z')) * 1000n + 1n;
  expect(columns).toEqual(column_ids);
  expect(rows.map((row) => row.map((value) => value ?? null))).toEqual([
    ['open', minute + 5_000_000n, null, '[]', null, false, '{}', expect.any(String)],
    ['loose', minute + 4_000_000n, null, '[]', null, true, '{}', loose.id],
    ['say "hi",\nline', minute + 3_000_000n, null, '[]', null, true, '{"plan":"free"}', second.id],
    ['first', minute + 2_000_000n, 0n, '["a","b"]', 0.5, true, '{}', first.id],
  ]);
  const all = await readParquet((await exported({ root_type: 'trace', export_format: 'parquet' })).bytes);
  const csv = parse((await exported({ root_type: 'trace', export_format: 'csv' })).text) as string[][];
  expect(all.columns).toEqual(csv[0]);
  expect(all.rows).toHaveLength(4);
});

test('more records than are read at a time come once each, and a caller who hangs up leaves the service whole', async () => {
  const traces = Array.from({ length: 2500 }, (_, n) =>
    service.record({ name: `many ${n}`, created_at: at(10 + (n % 7)), input: 'x'.repeat(2000) }),
  );
  await service.store(traces);
  const filters = [{ type: 'text', name: 'name', operator: 'contains', value: 'many' }];
  const ids = (await lines({ root_type: 'trace', filters })).map(({ id }) => id);
  expect(new Set(ids)).toEqual(new Set(traces.map(({ id }) => id)));
  expect(ids).toHaveLength(2500);
  const newest = await service.post('traces/search', { filters, limit: 10_000 });
  expect(ids).toEqual(newest.body.records.map(({ id }: { id: string }) => id));

  const hangUp = new AbortController();
  const response = await fetch(`${service.url}/projects/${service.projectId}/export_records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ log_stream_id: service.runId, root_type: 'trace' }),
    signal: hangUp.signal,
  });
  await response.body?.getReader().read();
  hangUp.abort();
  for (let n = 0; n < 5; n++) expect(await lines({ root_type: 'session' })).toHaveLength(2);
});

test('a run without records is an empty file, or a header alone', async () => {
  const none = { filters: [{ type: 'id', name: 'id', value: newId() }] };
  expect((await exported({ root_type: 'session', ...none })).text).toBe('');
  expect((await exported({ root_type: 'trace', export_format: 'csv', column_ids: ['id', 'name'], ...none })).text).toBe(
    'id,name\r\n',
  );
  const parquet = await exported({ root_type: 'trace', export_format: 'parquet', column_ids: ['id', 'name'], ...none });
  expect(await readParquet(parquet.bytes)).toEqual({ columns: ['id', 'name'], rows: [], rowGroups: 0 });
});

test.each([
  ['no root type', {}, /root_type/],
  ['a format that is none', { root_type: 'trace', export_format: 'xlsx' }, /export_format/],
  ['an unknown column', { root_type: 'trace', export_format: 'csv', column_ids: ['nope'] }, /no column/],
  ['an unknown sort', { root_type: 'trace', sort: { name: 'metrics/nope' } }, /no column/],
  [
    'a filter that does not fit',
    { root_type: 'trace', filters: [{ type: 'date', name: 'name', operator: 'eq', value: at(0) }] },
    /text/,
  ],
])('%s is refused before the first byte', async (_name, body, message) => {
  const answer = await exported(body);
  expect(answer.status).toBe(422);
  expect(answer.text).toMatch(message);
});

test.each(['csv', 'spans', 'traces'] as const)(
  'an export as %s reads no more records at a time than memory has room for, also where large ones follow small ones',
  async (as) => {
    const sizes = [...Array<number>(2_500).fill(3_000), ...Array<number>(40).fill(4_000_000)];
    const records = new Map(
      sizes.map((size) => {
        const record = service.record({ ...(as === 'spans' ? { type: 'tool' as const } : {}), name: 'large' });
        return [record.id, { record, size }];
      }),
    );
    const batches: { records: number; characters: number }[] = [];
    // The records have no other parts.
    const nothing = async () => new Map();
    const given = {
      records: async (_run: unknown, keys: { id: string }[]) => {
        const read = keys.map(({ id }) => records.get(id)).filter((one) => one !== undefined);
        batches.push({ records: read.length, characters: read.reduce((sum, { size }) => sum + size, 0) });
        return read.map(({ record, size }) => ({ ...record, input: 'x'.repeat(size) }));
      },
      family: async () => ({ storedTraces: new Set(), parents: new Set(), usage: new Map() }),
    };
    const reads = new Proxy({} as RecordReads, { get: (_, name) => given[name as keyof typeof given] ?? nothing });
    const keys = async function* () {
      for (const { record, size } of records.values()) {
        const { id, type, created_at } = record;
        yield { id, type, createdAt: created_at, traceId: id, rootId: id, bytes: size };
      }
    };
    const deps = { records: reads, stream: { keys, members: keys } };
    const kinds = as === 'spans' ? (['tool'] as const) : (['trace'] as const);
    const run = { projectId: service.projectId, runId: service.runId };
    const query = { run, kinds, filter: { and: [] }, findColumn: columnFinder([]), finishedSessionsOnly: false };
    const shape = { redact: true, computedMetricsOnly: false, includeMetricMetadata: false };
    const file =
      as === 'csv'
        ? exportFlat(deps, [query], shape, { format: 'csv', columns: [{ id: 'id' }, { id: 'input' }], csv: {} })
        : exportNested(deps, query, shape);
    let characters = 0;
    for await (const part of file) characters += part.length;
    const all = sizes.reduce((sum, size) => sum + size);
    expect(characters).toBeGreaterThan(all);
    expect(batches.reduce((sum, batch) => sum + batch.characters, 0)).toBe(all);
    expect(Math.max(...batches.map((batch) => batch.characters))).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(Math.max(...batches.map((batch) => batch.records))).toBe(1000);
    expect(batches.map((batch) => batch.records)).toContain(4);
  },
);

test('what other readers take for the end of a line is escaped', async () => {
  const name = 'a\u2028b\u2029c\u0085d';
  const trace = service.record({ name });
  await service.store([trace]);
  const filters = [{ type: 'id', column_id: 'id', value: trace.id }];
  for (const export_format of ['jsonl', 'jsonl_flat']) {
    const { text } = await exported({ root_type: 'trace', filters, export_format });
    expect(text).not.toMatch(/[\u0085\u2028\u2029]/);
    expect(text).toContain('a\\u2028b\\u2029c\\u0085d');
  }
});
