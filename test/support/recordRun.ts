import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../shared/identifiers/ids.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { type ClickHouseOptions, openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { metricFields } from '../../shared/stores/clickhouse/tables/metricRow.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import type { MetricResult } from '../../shared/wire/metricResults.ts';

/** The record tables of an embedded engine in a folder of their own, filled row by row: versions and parts are as the test wants them. */
export async function openRecordTables(options: Pick<ClickHouseOptions, 'namedVersions'> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-records-'));
  const clickhouse = openClickHouse({ dataDir, ...options });
  await migrateTables(clickhouse);
  // Versions stay side by side, so that a test sees what a read makes of them.
  for (const table of ['records', 'record_keys', 'trace_members', 'metric_values']) {
    await clickhouse.command({ name: 'no merges', sql: `SYSTEM STOP MERGES ${table}` });
  }
  const writes = clickhouseRecordStore(clickhouse);
  return {
    clickhouse,
    reads: clickHouseRecordReads(clickhouse),
    /** One block of records, each version as given. */
    async store(records: readonly StoredRecord[]): Promise<void> {
      const keys = records.map((record) => ({ record, leaves: undefined }));
      const versions = records.map((record) => ({ record, isRewrite: record.version !== 1 }));
      await writes.block({ keys, values: [], records: versions }).send();
    },
    /** Makes one part of all that was stored so far, as the engine does it in the background. */
    async merge(): Promise<void> {
      for (const sql of ['SYSTEM START MERGES records', 'OPTIMIZE TABLE records FINAL', 'SYSTEM STOP MERGES records'])
        await clickhouse.command({ name: 'merge', sql });
    },
    async score(record: StoredRecord, metric: string, result: MetricResult, version: number): Promise<void> {
      const { project_id, run_id, created_at, id, type, trace_id } = record;
      const row = { project_id, run_id, metric, record_created_at: created_at, record_id: id, record_type: type, trace_id };
      const rows = [{ ...row, ...metricFields(result), computed_at: created_at, version, is_rewrite: version > 1 }];
      await clickhouse.insert({ table: 'metric_values', rows, token: newId() });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await clickhouse.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
