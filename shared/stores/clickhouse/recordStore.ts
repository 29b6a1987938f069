import type { RecordKind } from '../../columns/columnDef.ts';
import { recordTableColumns } from '../../columns/recordTableColumns.ts';
import { newId } from '../../ids.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { StoredRecord } from '../../records/record.ts';
import type { Block, RecordKey, RecordStore } from '../../records/recordStore.ts';
import { timeParam } from './binder.ts';
import type { ClickHouse } from './connect.ts';
import { metricValueRow } from './metricValues.ts';
import { fromRow, type RecordRow, toRow } from './recordRow.ts';

// An id is 39 bytes of statement text; chDB and servers take statements of some megabytes, and one look-up stays under 100 ms.
const MAX_IDS = 10_000;
export const allColumns = recordTableColumns.map(({ name }) => name).join(', ');

/** The record and key tables as the writer needs them. */
export function clickhouseRecordStore(clickhouse: ClickHouse): RecordStore {
  return {
    keys: (run, ids) =>
      inChunks(ids, (chunk) =>
        clickhouse.query({
          name: 'record keys',
          sql: `SELECT ${keyColumns} FROM record_keys
                WHERE project_id = {project:UUID} AND run_id = {run:UUID} AND id IN {ids:Array(UUID)}
                ORDER BY version DESC LIMIT 1 BY id`,
          params: { project: run.projectId, run: run.runId, ids: chunk },
          row: toKey,
        }),
      ),
    spanKeys: (run, traceIds) =>
      inChunks(traceIds, (chunk) =>
        clickhouse.query({
          name: 'span keys of traces',
          sql: `SELECT ${keyColumns} FROM record_keys
                WHERE project_id = {project:UUID} AND run_id = {run:UUID} AND trace_id IN {ids:Array(UUID)} AND id != trace_id
                ORDER BY version DESC LIMIT 1 BY id`,
          params: { project: run.projectId, run: run.runId, ids: chunk },
          row: toKey,
        }),
      ),
    records: (run, keys) => readRecords(clickhouse, run, keys),
    keyBlock: (records) => block(clickhouse, 'record_keys', records.map(keyRow)),
    recordBlock: (records) => block(clickhouse, 'records', records.map(toRow)),
    valueBlock: (values) =>
      block(
        clickhouse,
        'metric_values',
        values.map(({ run, value, version }) => metricValueRow(run, value, version)),
      ),
  };
}

export const keyColumns = 'id, created_at, type, trace_id, parent_id, session_id';

/** Newest versions of the records under `keys`, with all fields; keys without a record are left out. */
export async function readRecords(
  clickhouse: ClickHouse,
  run: RunRef,
  keys: readonly Pick<RecordKey, 'id' | 'created_at'>[],
): Promise<StoredRecord[]> {
  return inChunks(keys, (chunk) =>
    clickhouse.query({
      name: 'records by key',
      sql: `SELECT ${allColumns} FROM records
            WHERE project_id = {project:UUID} AND run_id = {run:UUID}
              AND created_at IN {times:Array(DateTime64(6, 'UTC'))} AND id IN {ids:Array(UUID)}
            ORDER BY version DESC LIMIT 1 BY id`,
      params: {
        project: run.projectId,
        run: run.runId,
        times: [...new Set(chunk.map(({ created_at }) => timeParam(created_at)))],
        ids: chunk.map(({ id }) => id),
      },
      row: (row) => fromRow(row as RecordRow),
    }),
  );
}

const canonicalFromClickhouse = (text: string): string => `${text.replace(' ', 'T')}Z`;

async function inChunks<T, R>(items: readonly T[], read: (chunk: T[]) => Promise<R[]>): Promise<R[]> {
  const found: R[] = [];
  for (let from = 0; from < items.length; from += MAX_IDS) found.push(...(await read(items.slice(from, from + MAX_IDS))));
  return found;
}

interface KeyRow {
  id: string;
  created_at: string;
  type: RecordKind;
  trace_id: string | null;
  parent_id: string | null;
  session_id: string;
}
// The rows are our own and many: read by name, not parsed.
export const toKey = (row: unknown): RecordKey => ({
  ...(row as KeyRow),
  created_at: canonicalFromClickhouse((row as KeyRow).created_at),
});

const keyRow = ({ project_id, run_id, id, created_at, type, trace_id, parent_id, session_id, version }: StoredRecord) => ({
  project_id,
  run_id,
  id,
  created_at,
  type,
  trace_id,
  parent_id: parent_id ?? null,
  session_id,
  version,
});

/** Rows made into text once: a retry sends the same bytes with the same token. */
function block(clickhouse: ClickHouse, table: string, rows: readonly object[]): Block {
  // JSONEachRow takes an array as well as lines; one call writes it in half the time.
  const body = Buffer.from(JSON.stringify(rows));
  const token = newId();
  return { send: () => clickhouse.insert({ table, rows: body, token }) };
}
