import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { findKeys } from '../../shared/records/searchRecords.ts';
import { readRecords } from '../../shared/stores/clickhouse/reads/recordsByKey.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { datasetRows, datasetRowTables } from '../../shared/stores/clickhouse/writes/datasetRows.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { recordKinds } from '../../shared/wire/recordKinds.ts';
import { openRecordTables } from '../support/recordRun.ts';

let tables: Awaited<ReturnType<typeof openRecordTables>>;
beforeAll(async () => {
  tables = await openRecordTables();
});
afterAll(() => tables[Symbol.asyncDispose]());

const rows = (sql: string) => tables.clickhouse.query({ name: 'look', sql, row: (row) => row as Record<string, string> });
const alter = (change: string) => tables.clickhouse.command({ name: 'alter', sql: `ALTER TABLE records ${change}` });

test('a table of a former release loses the projections that this one has not, and gets those that it has, for what it holds as well', async () => {
  const run = { projectId: newId(), runId: newId() };
  const trace = (): StoredRecord => {
    const id = newId();
    const ofRun = { project_id: run.projectId, run_id: run.runId, id, trace_id: id, session_id: id };
    return { ...ofRun, type: 'trace', created_at: '2026-02-01T00:00:00.000000Z', version: 1, input: 'text' } as StoredRecord;
  };
  await alter('ADD PROJECTION kinds (SELECT project_id, run_id, type, count() GROUP BY project_id, run_id, type)');
  await tables.clickhouse.command({
    name: 'alter',
    sql: 'ALTER TABLE metric_values DROP PROJECTION metrics SETTINGS mutations_sync = 2',
  });
  const traces = [trace(), trace(), trace()];
  await tables.store(traces);
  await tables.score(traces[0] as StoredRecord, 'relevance', { status_type: 'success', value: 1 }, 1);
  const parts = () =>
    rows("SELECT DISTINCT table, name FROM system.projection_parts WHERE active AND table IN ('records', 'metric_values')");
  expect(await parts()).toEqual([{ table: 'records', name: 'kinds' }]);

  for (const table of ['records', 'metric_values'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` });
  await migrateTables(tables.clickhouse);
  await migrateTables(tables.clickhouse); // as a second process does
  expect(await rows("SELECT table, name FROM system.projections WHERE table IN ('records', 'metric_values')")).toEqual([
    { table: 'metric_values', name: 'metrics' },
  ]);
  await expect.poll(parts).toEqual([{ table: 'metric_values', name: 'metrics' }]);
  const query = { run, kinds: recordKinds, filter: { and: [] }, findColumn: columnFinder([]), offset: 0, limit: 2 };
  const { keys, total } = await findKeys(tables.reads, query);
  expect({ keys: keys.length, total }).toEqual({ keys: 2, total: 3 });
});

test('what updates have set is still known of records that a former release updated, which kept it in the cache alone', async () => {
  const run = { projectId: newId(), runId: newId() };
  const id = newId();
  await alter('DROP COLUMN updated_fields');
  await alter('RENAME COLUMN short_columns TO shorts');
  const cached = JSON.stringify({ name: 'call', updated_fields: ['output', 'metrics/cost'] });
  const row = { project_id: run.projectId, run_id: run.runId, id, trace_id: id, session_id: id, type: 'trace', version: 2 };
  await tables.clickhouse.insert({
    table: 'records',
    rows: [{ ...row, created_at: '2026-02-01 00:00:00.000000', name: 'call', shorts: cached }],
    token: newId(),
  });
  await migrateTables(tables.clickhouse);
  const at = { id, created_at: '2026-02-01T00:00:00.000000Z' };
  const read = () => readRecords(tables.clickhouse, run, [at]);
  expect(await read()).toMatchObject([{ name: 'call', updated_fields: ['output', 'metrics/cost'] }]);

  const [stored] = await read();
  await tables.store([{ ...(stored as StoredRecord), version: 3, updated_fields: ['output', 'input'] }]);
  expect(await read()).toMatchObject([{ name: 'call', version: 3, updated_fields: ['output', 'input'] }]);
  const caches = await rows(`SELECT short_columns FROM records WHERE id = '${id}' AND version = 3`);
  expect(JSON.parse(caches[0]?.short_columns ?? '')).not.toHaveProperty('updated_fields');
});

test('a trace that a former release has noted before its record came is in the session that was said then', async () => {
  const run = { projectId: newId(), runId: newId() };
  const [id, session] = [newId(), newId()];
  const key = { project_id: run.projectId, run_id: run.runId, id, session_id: session, type: 'awaited', version: 1 };
  const rows = [{ ...key, created_at: '2026-02-01 00:00:00.000000' }];
  await tables.clickhouse.insert({ table: 'record_keys', rows, token: newId() });
  const store = clickhouseRecordStore(tables.clickhouse);
  await store.removeMisplaced(run, [id]); // it has no record, and stays
  const [trace] = await new RecordWriter({ store }).write(run, [
    { action: 'log', record: { id, type: 'trace', trace_id: id, created_at: '2026-03-01T00:00:00.000000Z', input: 'q' } },
  ] as RecordChange[]);
  expect(trace).toMatchObject({ session_id: session });
  const [stored] = await store.recordsById(run, [id]);
  expect(stored).toMatchObject({ session_id: session, created_at: '2026-03-01T00:00:00.000000Z' });
});

test('lists of dataset rows that a former release has stored are found under their present name', async () => {
  const owner = newId();
  const content = newId();
  await datasetRowTables(tables.clickhouse);
  await datasetRows(tables.clickhouse).insertRanges(owner, content, [{ rowKey: 7, count: 3 }]);
  await tables.clickhouse.command({ name: 'former', sql: 'RENAME TABLE dataset_row_ranges TO dataset_stretches' });
  for (let process = 1; process <= 2; process++) await datasetRowTables(tables.clickhouse);
  expect(await datasetRows(tables.clickhouse).ranges(owner, content)).toEqual([{ rowKey: 7, count: 3 }]);
});
