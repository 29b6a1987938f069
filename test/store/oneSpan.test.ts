import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import { readAlone, readSpan, readTrace, type Tree } from '../../shared/records/read.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { type RecordPageQuery, searchRecords } from '../../shared/records/searchRecords.ts';
import type { ClickHouse, ClickHouseRead } from '../../shared/stores/clickhouse/clickHouse.ts';
import { clickhouseRecordReader } from '../../shared/stores/clickhouse/reads/recordReader.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { noAnnotations } from '../support/noAnnotations.ts';
import { noFiles } from '../support/noFiles.ts';
import { openRecordTables } from '../support/recordRun.ts';

const SPANS = 3_000;
const run = { projectId: newId(), runId: newId() };
const traceId = newId();
/** Ids of the spans in their order: 0 is an agent, 1 a workflow below it with the next ten below that, all others hang below the agent. */
const ids = Array.from({ length: SPANS }, newId);
let tables: Awaited<ReturnType<typeof openRecordTables>>;
const statements: string[] = [];

const listening = (clickhouse: ClickHouse): ClickHouse =>
  new Proxy(clickhouse, {
    get(of, key) {
      const value: unknown = Reflect.get(of, key, of);
      if (typeof value !== 'function') return value;
      return (read: ClickHouseRead<unknown>) => {
        statements.push(read.name);
        return value.call(of, read) as unknown;
      };
    },
  });

const parentOf = (n: number): string => (n === 0 ? traceId : ((n >= 2 && n < 12 ? ids[1] : ids[0]) as string));
const record = (n: number, more: Partial<StoredRecord> = {}): StoredRecord => ({
  ...{ project_id: run.projectId, run_id: run.runId, id: ids[n] ?? traceId, version: 1, session_id: traceId },
  ...{ type: n === 0 ? 'agent' : n === 1 ? 'workflow' : 'tool', trace_id: traceId, parent_id: parentOf(n), name: `span ${n}` },
  ...{ created_at: new Date(Date.UTC(2026, 1, 1) + n).toISOString().replace('Z', '000Z'), input: `input ${n}` },
  ...more,
});
const traceRecord = (version: number, trace_is_complete: boolean): StoredRecord =>
  record(-1, { type: 'trace', parent_id: null, version, trace_is_complete, created_at: '2026-01-31T00:00:00.000000Z' });

const deps = () => {
  const engine = listening(tables.clickhouse);
  return { reader: clickhouseRecordReader(engine), reads: { ...clickHouseRecordReads(engine), ...noAnnotations, ...noFiles } };
};

beforeAll(async () => {
  tables = await openRecordTables();
  await tables.store([traceRecord(1, false), ...ids.map((_, n) => record(n))]);
});
afterAll(() => tables[Symbol.asyncDispose]());

const inTree = (tree: Tree, id: string): Tree | undefined =>
  tree.id === id ? tree : tree.spans?.map((span) => inTree(span, id)).find((found) => found !== undefined);

test.each([
  ['that is a leaf', 2_500, 1],
  ['with some below it', 1, 11],
  ['with thousands below it', 0, SPANS],
])('a span %s is read as it is in its trace', async (_, n, size) => {
  const span = (await readSpan(deps(), run.projectId, ids[n] as string)) as Tree;
  const trace = (await readTrace(deps(), run.projectId, traceId)) as Tree;
  expect(span).toEqual(inTree(trace, ids[n] as string));
  const count = (tree: Tree): number => 1 + (tree.spans ?? []).reduce((sum, below) => sum + count(below), 0);
  expect(count(span)).toBe(size);
});

test.each([
  ['a trace', 'trace', -1],
  ['a span with thousands below it', 'span', 0],
  ['a leaf', 'span', 2_500],
] as const)('%s is read alone as it is in its tree, by its own record', async (_, what, n) => {
  const id = ids[n] ?? traceId;
  const trace = (await readTrace(deps(), run.projectId, traceId)) as Tree;
  statements.length = 0;
  const alone = await readAlone(deps(), run.projectId, what, id);
  expect(statements).not.toContain('records by trace_id');
  expect(statements).not.toContain('places in a trace');
  expect(alone).toEqual({ ...inTree(trace, id), spans: [] });
});

test('a trace that has not come is read alone as a stub', async () => {
  const [span, missing] = [newId(), newId()];
  await tables.store([record(2, { id: span, trace_id: missing, parent_id: missing })]);
  expect(await readAlone(deps(), run.projectId, 'trace', missing)).toMatchObject({ type: 'stub_trace', spans: [] });
  await expect(readAlone(deps(), run.projectId, 'trace', newId())).rejects.toThrow('no trace');
  await expect(readAlone(deps(), run.projectId, 'span', traceId)).rejects.toThrow('no span');
});

test('a span without spans below it reads neither the records nor the places of the others', async () => {
  statements.length = 0;
  await readSpan(deps(), run.projectId, ids[2_000] as string);
  expect(statements.sort()).toEqual(
    ['metrics of a page', 'place of a span', 'record by id', 'records by key', 'state of a trace'].sort(),
  );
});

test('a span is complete when its trace is, and one whose trace has not come is not', async () => {
  const stateOf = async (id: string) => (await readSpan(deps(), run.projectId, id)).is_complete;
  expect(await stateOf(ids[5] as string)).toBe(false);
  await tables.store([traceRecord(2, true)]);
  expect(await stateOf(ids[5] as string)).toBe(true);
  const alone = newId();
  await tables.store([record(0, { id: alone, trace_id: newId(), parent_id: null })]);
  expect(await stateOf(alone)).toBe(false);
});

test('a span that was moved is where it was moved to, with what is below it now', async () => {
  const [moved, child, other] = [newId(), newId(), newId()];
  await tables.store([record(2, { id: moved, type: 'agent' }), record(3, { id: child, parent_id: moved })]);
  const spansOf = async (id: string) => ((await readSpan(deps(), run.projectId, id)).spans as Tree[]).map((span) => span.id);
  expect(await spansOf(moved)).toEqual([child]);
  await tables.store([record(3, { id: child, parent_id: ids[0] as string, version: 2 })]);
  expect(await spansOf(moved)).toEqual([]);
  await tables.store([record(2, { id: moved, type: 'agent', trace_id: other, parent_id: other, version: 2 })]);
  expect(await readSpan(deps(), run.projectId, moved)).toMatchObject({ trace_id: other, spans: [] });
});

test('a page of narrow columns is one read of records whatever its length, with the members of its trace read once', async () => {
  const findColumn = columnFinder([]);
  const query: RecordPageQuery = {
    ...{ run, kinds: ['tool'], findColumn, offset: 0, limit: 10_000 },
    filter: { filter: { type: 'id', column_id: 'trace_id', operator: 'eq', value: traceId } },
  };
  const view = { metrics: [], includeCounts: false, includeMetricMetadata: false, truncate: false };
  const { reads } = deps();
  const whole = await searchRecords(reads, query, view);
  statements.length = 0;
  const thin = await searchRecords(reads, query, { ...view, columns: ['name', 'status_code', 'has_children'] });
  expect(statements.filter((name) => name === 'record page')).toHaveLength(1);
  expect(statements.filter((name) => name === 'members of traces')).toHaveLength(1);
  expect(statements.filter((name) => /records|sizes/.test(name))).toEqual([]);
  expect(thin.total).toBe(whole.total);
  const shown = ({ records }: typeof thin) => records.map(({ record: { id, name }, hasChildren }) => ({ id, name, hasChildren }));
  expect(shown(thin)).toEqual(shown(whole));
});
