import type { RunRef } from '../../../projects/runs.ts';
import type { StoredRecord } from '../../../records/record.ts';
import type { StoredKey } from '../../../records/recordStore.ts';
import { IN_RUN, runParams, timeParam } from '../binder.ts';
import { type ClickHouse, threadsFor } from '../clickHouse.ts';
import { inChunks } from '../inChunks.ts';
import { type RowsOf, recordRows } from '../tables/recordRow.ts';

/** Newest versions of the records under `keys`, with all fields; keys without a record are left out. */
export const readRecords = (
  clickhouse: ClickHouse,
  run: RunRef,
  keys: readonly Pick<StoredKey, 'id' | 'created_at'>[],
): Promise<StoredRecord[]> =>
  inChunks(keys, (chunk) =>
    recordsAt(clickhouse, run, chunk, recordRows(run, undefined, true), "created_at IN {times:Array(DateTime64(6, 'UTC'))}", {
      times: [...new Set(chunk.map(({ created_at }) => timeParam(created_at)))],
    }),
  );

/** The places of these records, as their newest keys say. */
const PLACES = `SELECT id, argMax(created_at, version) AS at FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)} GROUP BY id`;

/** The same of the records with these ids, as `rows` reads them. */
export const recordsById = <T>(clickhouse: ClickHouse, run: RunRef, ids: readonly string[], rows: RowsOf<T>): Promise<T[]> =>
  inChunks(ids, (chunk) =>
    recordsAt(
      clickhouse,
      run,
      chunk.map((id) => ({ id })),
      rows,
      `created_at IN (SELECT at FROM (${PLACES})) AND (id, created_at) IN (${PLACES})`,
      {},
    ),
  );

function recordsAt<T>(
  clickhouse: ClickHouse,
  run: RunRef,
  keys: readonly { id: string }[],
  { select, row }: RowsOf<T>,
  where: string,
  params: Record<string, readonly string[]>,
): Promise<T[]> {
  return clickhouse.query({
    name: 'records by key',
    sql: `SELECT ${select} FROM records WHERE ${IN_RUN} AND ${where} AND id IN {ids:Array(UUID)} ORDER BY version DESC LIMIT 1 BY id`,
    params: { ...runParams(run), ids: keys.map(({ id }) => id), ...params },
    ...threadsFor(keys),
    row,
  });
}
