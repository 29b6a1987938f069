import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { recordHistogram } from '../../shared/records/recordHistogram.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import { clickhouseHistogram } from '../../shared/stores/clickhouse/reads/recordHistogram.ts';
import { microsOfTime, timeOfMicros } from '../../shared/wire/time.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;
let traces: StoredRecord[];
const findColumn = columnFinder([]);
const START = microsOfTime('2026-03-29T00:30:00.000000Z');
/** Microseconds after the start: the night in which Europe leaves out an hour, with two records a microsecond apart. */
const offsets = [0n, 1n, 3_600_000_000n, 7_199_999_999n, 7_200_000_000n, 10_799_999_999n];
const everything = { start_time: timeOfMicros(START), end_time: timeOfMicros(START + 10_800_000_000n) };

beforeAll(async () => {
  service = await startSearchService();
  traces = offsets.map((offset, n) =>
    service.record({
      ...{ created_at: timeOfMicros(START + offset), name: n % 2 ? 'odd' : 'even' },
      ...[
        { status_code: 399 },
        { status_code: 400 },
        { error_message: 'lost' },
        {},
        {},
        { status_code: 500, error_message: 'x' },
      ][n],
    }),
  );
  const old = { ...(traces[4] as StoredRecord), version: 0, error_message: 'not any more' };
  const span = service.record({ type: 'tool', created_at: timeOfMicros(START), trace_id: traces[0]?.id ?? null });
  const session = service.record({ type: 'session', created_at: timeOfMicros(START) });
  await service.store([old]);
  await service.store([...traces, span, session]);
});
afterAll(() => service[Symbol.asyncDispose]());

const histogram = async (body: object, kind = 'traces') => (await service.post(`${kind}/histogram`, body)).body;
const shape = ({ buckets }: { buckets: { count: number; errors: number }[] }) => buckets.map((one) => [one.count, one.errors]);

test('counts and failures stand in the bucket in which a record starts', async () => {
  const body = await histogram({ ...everything, buckets: 3 });
  expect(shape(body)).toEqual([
    [2, 1],
    [2, 1],
    [2, 1],
  ]);
  expect(body).toMatchObject({ ...everything, count: 6, errors: 3 });
  expect(body.buckets[1]).toMatchObject({ start_time: '2026-03-29T01:30:00.000000Z', end_time: '2026-03-29T02:30:00.000000Z' });
  expect(await histogram({ ...everything, buckets: 1 }, 'spans')).toMatchObject({ count: 1, errors: 0 });
  expect(await histogram({}, 'sessions')).toMatchObject({ count: 1, errors: 0 });
});

test('a range without its ends is that of the records that match', async () => {
  const filter_tree = { filter: { type: 'text', column_id: 'name', operator: 'eq', value: 'odd' } };
  const body = await histogram({ filter_tree, buckets: 2 });
  expect(shape(body)).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(body).toMatchObject({ start_time: timeOfMicros(START + 1n), end_time: timeOfMicros(START + 10_800_000_000n) });
  const later = await histogram({ start_time: timeOfMicros(START + 7_200_000_000n), buckets: 1 });
  expect(later).toMatchObject({ count: 2, end_time: timeOfMicros(START + 10_800_000_000n) });
});

test('a range of fewer microseconds than buckets has one for each', async () => {
  const body = await histogram({ start_time: timeOfMicros(START), end_time: timeOfMicros(START + 2n) });
  expect(shape(body)).toEqual([
    [1, 0],
    [1, 1],
  ]);
});

test('where nothing matches there is no range, unless one was asked for', async () => {
  const filters = [{ type: 'text', column_id: 'name', operator: 'eq', value: 'nothing' }];
  expect(await histogram({ filters })).toEqual({ start_time: null, end_time: null, count: 0, errors: 0, buckets: [] });
  expect(shape(await histogram({ filters, ...everything, buckets: 2 }))).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

test.each([
  ['one statement', 2_000_000, 1],
  ['two statements, where more match than are kept', 2, 2],
])('the range of a filter and its counts are %s', async (_, mostKept, statements) => {
  const query: RecordQuery = {
    ...{ run: { projectId: service.projectId, runId: service.runId }, kinds: ['trace'], findColumn },
    filter: { filter: { type: 'text', column_id: 'name', operator: 'eq', value: 'odd', case_sensitive: true } },
  };
  const asked: string[] = [];
  const listening = new Proxy(service.clickhouse, {
    get(of, key) {
      const value: unknown = Reflect.get(of, key, of);
      if (key !== 'query' || typeof value !== 'function') return value;
      return (read: { name: string }) => {
        asked.push(read.name);
        return value.call(of, read) as unknown;
      };
    },
  });
  const reads = clickhouseHistogram(listening, mostKept);
  const body = await recordHistogram(reads, query, { buckets: 2 });
  expect(asked.filter((name) => name === 'record histogram')).toHaveLength(statements);
  expect(shape(body)).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(body).toMatchObject({ start_time: timeOfMicros(START + 1n), end_time: timeOfMicros(START + 10_800_000_000n) });
  const until = { to: timeOfMicros(START + 7_200_000_000n), buckets: 1 };
  expect(await recordHistogram(reads, query, until)).toMatchObject({ count: 2, start_time: body.start_time, end_time: until.to });
});

test('the first and the last time that a record may have are within a range', async () => {
  const run = newId();
  const ends = ['1900-01-01T00:00:00.000000Z', '2299-12-31T23:59:59.999999Z'];
  await service.store(ends.map((created_at) => service.record({ created_at, run_id: run })));
  const query: RecordQuery = {
    run: { projectId: service.projectId, runId: run },
    kinds: ['trace'],
    filter: { and: [] },
    findColumn,
  };
  const body = await recordHistogram(clickhouseHistogram(service.clickhouse), query, { buckets: 4 });
  expect(body).toMatchObject({ start_time: ends[0], end_time: '2300-01-01T00:00:00.000000Z', count: 2 });
  expect(body.buckets.map(({ count }) => count)).toEqual([1, 0, 0, 1]);
});

test('what cannot be answered is refused with the reason', async () => {
  const refused = async (body: object) => (await service.post('traces/histogram', body)).status;
  expect(await refused({ start_time: everything.end_time, end_time: everything.start_time })).toBe(422);
  expect(await refused({ buckets: 0 })).toBe(422);
  expect(await refused({ buckets: 501 })).toBe(422);
  expect(await refused({ log_stream_id: newId() })).toBe(404);
  const unknown = await service.post('traces/histogram', {
    filters: [{ type: 'text', column_id: 'nmae', operator: 'eq', value: 'x' }],
  });
  expect(unknown.status).toBe(422);
  expect(JSON.stringify(unknown.body)).toContain('the closest is name');
});

test('whatever the range and the number of buckets, they have each record once and follow each other', async () => {
  const moment = fc.bigInt({ min: -10n, max: 10_800_000_010n });
  await fc.assert(
    fc.asyncProperty(moment, moment, fc.integer({ min: 1, max: 500 }), async (one, other, buckets) => {
      const [from, to] = one < other ? [one, other] : [other, one + 1n];
      const times = { start_time: timeOfMicros(START + from), end_time: timeOfMicros(START + to) };
      const body = await histogram({ ...times, buckets });
      const inside = offsets.filter((offset) => offset >= from && offset < to);
      expect(body.count).toBe(inside.length);
      expect(body.buckets.length).toBeLessThanOrEqual(buckets);
      for (const [n, { start_time, end_time, count }] of body.buckets.entries()) {
        expect(end_time).toBe(body.buckets[n + 1]?.start_time ?? times.end_time);
        const micros = { start: microsOfTime(start_time) - START, end: microsOfTime(end_time) - START };
        expect(count).toBe(offsets.filter((offset) => offset >= micros.start && offset < micros.end).length);
      }
    }),
    { numRuns: 25 },
  );
});
