import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { metricColumn } from '../../shared/metrics/metricColumn.ts';
import { toxicity } from '../../shared/metrics/toxicity.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { findKeys, type RecordPageQuery } from '../../shared/records/searchRecords.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { clickhouseDeleteRecords, clickhouseRecordEraser } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { openRecordTables } from '../support/recordRun.ts';

let tables: Awaited<ReturnType<typeof openRecordTables>>;
let reads: ReturnType<typeof clickHouseRecordReads>;
/** Names of the statements that were read since they were last looked at. */
const statements: string[] = [];
const run = { projectId: newId(), runId: newId() };

beforeAll(async () => {
  tables = await openRecordTables();
  reads = clickHouseRecordReads(listening(tables.clickhouse));
});
afterAll(() => tables[Symbol.asyncDispose]());

/** Done once, before the next statement of this name is sent. */
let meanwhile: { name: string; work(): Promise<void> } | undefined;

/** The same engine, whose reads are noted. */
const listening = (clickhouse: ClickHouse): ClickHouse =>
  new Proxy(clickhouse, {
    get(of, key) {
      const value: unknown = Reflect.get(of, key, of);
      if (typeof value !== 'function') return value;
      return (...args: [{ name: string }]) => {
        const ask = () => value.apply(of, args) as unknown;
        if (key !== 'query' && key !== 'page') return ask();
        const [{ name }] = args;
        statements.push(name);
        if (meanwhile?.name !== name) return ask();
        const { work } = meanwhile;
        meanwhile = undefined;
        return work().then(ask);
      };
    },
  });

const record = (n: number, more: Partial<StoredRecord> = {}): StoredRecord => {
  const id = newId();
  const created_at = `2026-02-01T00:00:${String(n).padStart(2, '0')}.000000Z`;
  return {
    ...{ project_id: run.projectId, run_id: run.runId, id, type: 'trace', created_at, version: 1 },
    ...{ session_id: id, trace_id: id, input: `text ${n}`, name: n % 2 === 0 ? 'even' : 'odd' },
    ...more,
  };
};

const everything: RecordPageQuery = {
  ...{ run, kinds: ['trace'], filter: { and: [] }, findColumn: columnFinder([]), offset: 0, limit: 5 },
};
const even: RecordPageQuery = {
  ...everything,
  filter: { filter: { type: 'text', column_id: 'name', operator: 'eq', value: 'even', case_sensitive: true } },
};
const byName = { column: everything.findColumn('name'), ascending: true };

async function pageOf(query: RecordPageQuery) {
  statements.length = 0;
  const { keys, total } = await reads.readPage(query, 'all');
  return { ids: keys.map(({ id }) => id), total: await total, statements: [...statements] };
}

let old: StoredRecord[];
/** Twelve new records, of which six are even, of a run of their own. */
beforeEach(async () => {
  run.runId = newId();
  old = Array.from({ length: 12 }, (_, n) => record(n));
  await tables.store(old);
});

test.each([
  ['the newest page', everything, 12],
  ['a page behind others', { ...everything, offset: 4 }, 12],
  ['a page behind the last', { ...everything, offset: 100 }, 12],
  ['the page of a filter', even, 6],
  ['a later page of a filter', { ...even, offset: 4 }, 6],
  ['a page of a filter behind the last', { ...even, offset: 100 }, 6],
  ['a page that is sorted', { ...even, sort: byName }, 6],
  ['no record of a filter', { ...even, limit: 0 }, 6],
])('%s has its exact total, and is one statement while nothing is written', async (_, query, total) => {
  const first = await pageOf(query);
  const again = await pageOf(query);
  expect([first.total, again.total]).toEqual([total, total]);
  expect(again.ids).toEqual(first.ids);
  const inOne = query.limit > 0 ? ['record page'] : ['record page', 'record count'];
  expect(again.statements).toEqual(inOne);
});

test('what was written, changed and deleted since the last page is seen by the next one, and counted', async () => {
  const [first] = old as [StoredRecord];
  const answers = async () => {
    const [all, filtered, later] = [await pageOf(everything), await pageOf(even), await pageOf({ ...everything, offset: 10 })];
    expect(await reads.count(everything)).toBe(all.total);
    expect(await reads.count(even)).toBe(filtered.total);
    return [all.total, filtered.total, later.ids.length];
  };
  expect(await answers()).toEqual([12, 6, 2]);
  await tables.store([record(20), record(21)]);
  expect(await answers()).toEqual([14, 7, 4]);
  await tables.store([{ ...first, version: 2, name: 'odd' }]); // the oldest, in its place
  expect(await answers()).toEqual([14, 6, 4]);
  // A deletion waits for the engine's merges, which these tables are opened without.
  for (const table of ['records', 'record_keys', 'trace_members', 'metric_values'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` });
  await (await clickhouseRecordEraser(tables.clickhouse).erase(run, [first])).gone;
  expect(await answers()).toEqual([13, 6, 3]);
  await tables.merge();
  expect(await answers()).toEqual([13, 6, 3]);
});

test('a run to which something is being written all the time is known after its first page', async () => {
  let isOver = false;
  let written = old.length;
  const lane = async () => {
    for (const store = clickhouseRecordStore(tables.clickhouse); !isOver; written++) {
      const made = record(30);
      const keys = [{ record: made, leaves: undefined }];
      await store.block({ keys, values: [], records: [{ record: made, isRewrite: false, replaces: null }] }).send();
    }
  };
  const lanes = [lane(), lane()];
  const names = (await pageOf(everything)).statements;
  for (let time = 0; time < 5; time++) names.push(...(await pageOf({ ...everything, offset: 5 })).statements);
  isOver = true;
  await Promise.all(lanes);
  expect(names.filter((name) => name === 'kinds of a run')).toHaveLength(1);
  expect((await pageOf(everything)).total).toBe(written);
});

test('a deletion leaves what is known of other runs, and of traces that it does not take', async () => {
  for (const table of ['records', 'record_keys', 'trace_members', 'metric_values'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` }); // the deletion waits for them
  const { writtenTraces } = tables.clickhouse;
  const untilKnown = async () => {
    const known = record(19);
    await tables.store([known]);
    return writtenTraces?.get(run, known.id) && known;
  };
  await expect.poll(untilKnown).toBeDefined();
  const [kept, taken] = [(await untilKnown()) as StoredRecord, (await untilKnown()) as StoredRecord];
  const total = (await pageOf(everything)).total;
  const other = { projectId: run.projectId, runId: newId() };
  await tables.store([{ ...record(1), run_id: other.runId }]);
  await pageOf({ ...everything, run: other });

  await (await clickhouseRecordEraser(tables.clickhouse).erase(run, [taken])).gone;
  expect([writtenTraces?.get(run, kept.id)?.isStored, writtenTraces?.get(run, taken.id)]).toEqual([true, undefined]);
  expect((await pageOf({ ...everything, run: other })).statements).toEqual(['record page']);
  expect((await pageOf(everything)).total).toBe(total - 1);
  await clickhouseDeleteRecords(tables.clickhouse)(run.projectId, other.runId);
  expect(writtenTraces?.get(run, kept.id)).toBeDefined();
  expect((await pageOf({ ...everything, run: other })).total).toBe(0);
});

test('what is written to another run changes no answer', async () => {
  expect((await pageOf(everything)).total).toBe(12);
  await tables.store([{ ...record(30), run_id: newId() }]);
  expect((await pageOf(everything)).total).toBe(12);
});

test.each([0, 4])(
  'a page from offset %i on, during whose reading a record is changed, shows each record once',
  async (offset) => {
    const newest = old[11] as StoredRecord;
    const query = { ...everything, offset };
    const wanted = await findKeys(reads, query);
    meanwhile = { name: 'record page', work: () => tables.store([{ ...newest, version: 2, name: 'changed' }]) };
    await tables.store([{ ...record(40), run_id: newId() }]); // so that what is known of the run is asked for anew
    statements.length = 0;
    expect(await findKeys(reads, query)).toEqual(wanted);
    expect(meanwhile).toBeUndefined();
    expect(statements.filter((name) => name === 'record page')).toHaveLength(2);
  },
);

test('a page by a metric, during whose reading a value is changed, shows each record once, by its newest value', async () => {
  const score = (one: StoredRecord, value: number, version = 1) =>
    tables.score(one, 'toxicity', { status_type: 'success', value }, version);
  for (const [n, one] of old.entries()) await score(one, n);
  const column = metricColumn(toxicity);
  const query = { ...everything, findColumn: columnFinder([column]), sort: { column, ascending: false } };
  const last = old[11] as StoredRecord;
  meanwhile = { name: 'page by a metric', work: () => score(last, -1, 2) };
  const { keys, total } = await findKeys(reads, query);
  expect(meanwhile).toBeUndefined();
  expect(keys.map(({ id }) => id)).toEqual([10, 9, 8, 7, 6].map((n) => old[n]?.id));
  expect(total).toBe(12);
});

test('a run of which thousands of records were changed is read without a merge of versions once its stale rows are listed', async () => {
  const many = Array.from({ length: 2_100 }, (_, n) => record(n % 60, { name: n % 2 === 0 ? 'even' : 'odd' }));
  await tables.store(many);
  await tables.store(many.map((one) => ({ ...one, version: 2, name: 'changed' })));
  await tables.clickhouse.command({ name: 'forget', sql: 'SYSTEM STOP MERGES records' }); // what is known of runs goes
  const known = () => tables.clickhouse.written?.get(run)?.newest;
  const answers = async () => {
    const [all, filtered, later] = [await pageOf(everything), await pageOf(even), await pageOf({ ...everything, offset: 2_000 })];
    return { all: [all.ids, all.total], filtered: [filtered.ids, filtered.total], later: [later.ids, later.total] };
  };
  const merged = await answers();
  expect(merged.filtered[1]).toBe(6); // of the twelve that were there
  await expect.poll(known).toMatchObject({ from: 'records', areListed: true });
  expect(await answers()).toEqual(merged);
  await tables.store([record(70, { name: 'even' })]);
  expect((await answers()).all[1]).toBe(2_113);
});

test('the total of a run that was updated is counted once, and anew after a deletion', async () => {
  for (const table of ['records', 'record_keys', 'trace_members', 'metric_values'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` }); // the deletion waits for them
  const [first, second] = old as [StoredRecord, StoredRecord];
  const store = clickhouseRecordStore(tables.clickhouse);
  const update = (one: StoredRecord) =>
    store.block({ keys: [], values: [], records: [{ record: { ...one, version: 2 }, isRewrite: true, replaces: one }] }).send();
  const totals = async () =>
    [await pageOf(everything), await pageOf(everything)].map(({ total, statements }) => [total, ...statements]);
  const counted = ['record page', 'record count'];
  await update(first);
  expect((await totals())[1]).toEqual([12, 'record page']);
  await update(second);
  expect(await totals()).toEqual([
    [12, 'record page'],
    [12, 'record page'],
  ]);
  await (await clickhouseRecordEraser(tables.clickhouse).erase(run, [second])).gone;
  expect(await totals()).toEqual([
    [11, ...counted],
    [11, 'record page'],
  ]);
});

test('what a page shows beside its records is what is stored, also when it was asked before the last write', async () => {
  const [trace] = old as [StoredRecord];
  const key = { id: trace.id, type: 'trace' as const, createdAt: trace.created_at, traceId: trace.id };
  const shown = async () => ({
    usage: (await reads.usage(run, [key])).get(trace.id)?.num_total_tokens,
    spans: (await reads.spanCounts(run, [trace.id])).get(trace.id),
    parents: (await reads.family(run, [key])).parents.size,
    scores: (await reads.metricResults(run, [key])).get(trace.id)?.length,
  });
  for (let time = 0; time < 2; time++)
    expect(await shown()).toEqual({ usage: undefined, spans: undefined, parents: 0, scores: undefined });
  const call: Partial<StoredRecord> = { type: 'llm', trace_id: trace.id, parent_id: trace.id, metrics: { num_total_tokens: 7 } };
  await tables.store([record(1, call)]);
  await tables.score(trace, 'relevance', { status_type: 'success', value: 1 }, 1);
  statements.length = 0;
  for (let time = 0; time < 2; time++) expect(await shown()).toEqual({ usage: 7, spans: 1, parents: 1, scores: 1 });
  expect(statements).not.toContain(FROM_RECORDS);
  // The rows of a former release.
  await tables.clickhouse.command({
    name: 'forget',
    sql: 'ALTER TABLE trace_members CLEAR COLUMN usage SETTINGS mutations_sync = 1',
  });
  await tables.store([record(2, call)]);
  expect((await shown()).usage).toBe(14);
  expect(statements).toContain(FROM_RECORDS);
});

test('what hangs below a trace that was logged here is known without a statement, until something is deleted', async () => {
  const [trace, call] = [record(20), record(21, { type: 'llm', metrics: { num_total_tokens: 7 } })];
  const below = { ...call, trace_id: trace.id, parent_id: trace.id };
  const key = { id: trace.id, type: 'trace' as const, createdAt: trace.created_at, traceId: trace.id };
  const shown = async () => {
    statements.length = 0;
    const { parents, usage } = await reads.family(run, [key]);
    return { hasChildren: parents.has(trace.id), tokens: usage.get(trace.id)?.num_total_tokens, asked: statements.length };
  };
  await expect // The ids of the run are read at its first write: until then the table is asked.
    .poll(async () => {
      const first = record(19);
      await tables.store([first]);
      return tables.clickhouse.writtenTraces?.get(run, first.id);
    })
    .toBeDefined();
  await tables.store([trace, below]);
  expect(await shown()).toEqual({ hasChildren: true, tokens: 7, asked: 0 });
  await tables.store([{ ...below, version: 2, metrics: { num_total_tokens: 8 } }]);
  expect(await shown()).toEqual({ hasChildren: true, tokens: 8, asked: 0 });
  await tables.store([record(22, { ...call, id: newId(), trace_id: trace.id, parent_id: trace.id })]);
  expect(await shown()).toEqual({ hasChildren: true, tokens: 15, asked: 0 });
  for (const table of ['records', 'record_keys', 'trace_members'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}`, keepsRecords: true }); // the deletion waits for them
  await (await clickhouseRecordEraser(tables.clickhouse).erase(run, [below])).gone;
  expect(await shown()).toEqual({ hasChildren: true, tokens: 7, asked: 1 });
});

/** The statement for traces with model calls that a former release stored. */
const FROM_RECORDS = 'usage of the records of traces';
