import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables, tables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { startClickHouseServer } from '../support/clickhouseServer.ts';

// Removes the parts that tables of the previous release lack.
const FORMER = [
  'ALTER TABLE records DROP PROJECTION kinds_and_rewrites SETTINGS mutations_sync = 2',
  'ALTER TABLE records DROP INDEX incomplete SETTINGS mutations_sync = 2',
  'ALTER TABLE records RESET SETTING old_parts_lifetime',
  'ALTER TABLE trace_members DROP COLUMN counted_usage SETTINGS mutations_sync = 2',
  'DROP TABLE deleted_records',
];

test('over servers several processes migrate the tables while those of the former release write and read: each row is there', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-migrate-'));
  const server = await startClickHouseServer({ dataDir });
  const processes = [1, 2, 3].map(() => openClickHouse({ url: server.url }));
  onTestFinished(async () => {
    await Promise.all(processes.map((clickhouse) => clickhouse.close()));
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const [writer, ...migrators] = processes as [ReturnType<typeof openClickHouse>, ...ReturnType<typeof openClickHouse>[]];
  const query = (sql: string) => writer.query({ name: 'look', sql, row: (row) => row as Record<string, string> });
  const definitions = () =>
    query(`SELECT * FROM (SELECT 'column' AS what, table, name FROM system.columns WHERE database = currentDatabase()
      UNION ALL SELECT 'index' AS what, table, name FROM system.data_skipping_indices WHERE database = currentDatabase()
      UNION ALL SELECT 'projection' AS what, table, name FROM system.projections WHERE database = currentDatabase())
      ORDER BY what, table, name`);
  await migrateTables(writer);
  const declared = await definitions();
  for (const sql of FORMER) await writer.command({ name: 'former', sql });
  expect(await definitions()).not.toEqual(declared);

  const run = { project_id: newId(), run_id: newId() };
  const stored: string[] = [];
  let isOver = false;
  const write = async () => {
    while (!isOver) {
      const rows = Array.from({ length: 20 }, () => {
        const id = newId();
        return { ...run, id, trace_id: id, session_id: id, type: 'trace', version: 1, created_at: '2026-02-01 00:00:00.000000' };
      });
      for (const table of ['record_keys', 'trace_members', 'records']) await writer.insert({ table, rows, token: newId() });
      stored.push(...rows.map(({ id }) => id));
      const [found] = await query(`SELECT count() AS n FROM records WHERE run_id = '${run.run_id}'`);
      expect(Number(found?.n)).toBeGreaterThanOrEqual(rows.length);
    }
  };
  const writes = Promise.all([write(), write()]);
  await expect.poll(() => stored.length).toBeGreaterThan(100);
  const before = stored.length;
  await Promise.all(migrators.map((clickhouse) => migrateTables(clickhouse)));
  await expect.poll(() => stored.length).toBeGreaterThan(before);
  isOver = true;
  await writes;
  expect(await definitions()).toEqual(declared);
  for (const table of ['record_keys', 'trace_members', 'records']) {
    const ids = await query(`SELECT DISTINCT toString(id) AS id FROM ${table} WHERE run_id = '${run.run_id}'`);
    expect(ids.map(({ id }) => id).sort(), table).toEqual(stored.toSorted());
  }
  const [counted] = await query(
    `SELECT count() AS n FROM records WHERE project_id = '${run.project_id}' AND run_id = '${run.run_id}' GROUP BY project_id, run_id`,
  );
  expect(Number(counted?.n), 'from the projection, where it is made already').toBe(stored.length);
  expect((await query('SHOW TABLES')).length).toBeGreaterThanOrEqual(tables.length);
});
