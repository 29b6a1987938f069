import type { RunRef } from '../../../projects/runs.ts';
import type { LateRows } from '../../../records/lateRows.ts';
import { IN_RUN, runParams, TIME } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { inChunks } from '../inChunks.ts';
import { isPending, LEFT } from '../tables/tables.ts';

/** The columns that say, beside its id, where a row is. */
const PLACES = {
  records: { id: 'id', place: 'created_at', type: TIME },
  metric_values: { id: 'record_id', place: 'record_created_at', type: TIME },
  trace_members: { id: 'id', place: 'trace_id', type: 'UUID' },
  record_keys: { id: 'id', place: 'created_at', type: TIME },
} as const;

interface MisplacedRow {
  table: keyof typeof PLACES;
  id: string;
  place: string;
}

const toMisplaced = (row: unknown) => row as MisplacedRow;

/** Rows that one statement takes: it compares each row of their ids with all of them. */
const ROWS_PER_DELETION = 1_000;
/** Ids of late rows that are found at a time. */
const MAX_LATE = 10_000;

/**
 * Rows of these ids that belong to no record: they have another place than the newest key of their id says, or no key, or are keys without a record.
 * A trace that is pending has a key and no record.
 */
function misplacedSql(ids: string): string {
  const noTrace = "toUUID('00000000-0000-0000-0000-000000000000')";
  const placed = `SELECT id, at, trace FROM (
      SELECT id, argMax(created_at, version) AS at, argMax(ifNull(trace_id, ${noTrace}), version) AS trace, argMax(type, version) AS newest
      FROM record_keys WHERE ${IN_RUN} AND id IN ${ids} GROUP BY id)
    WHERE ${isPending('newest')} OR (id, at) IN (SELECT id, created_at FROM records WHERE ${IN_RUN} AND id IN ${ids})`;
  return `
    SELECT DISTINCT 'records' AS table, id, toString(created_at) AS place FROM records
    WHERE ${IN_RUN} AND id IN ${ids} AND (id, created_at) NOT IN (SELECT id, at FROM (${placed}))
    UNION ALL
    SELECT DISTINCT 'metric_values' AS table, record_id AS id, toString(record_created_at) AS place FROM metric_values
    WHERE ${IN_RUN} AND record_id IN ${ids} AND (record_id, record_created_at) NOT IN (SELECT id, at FROM (${placed}))
    UNION ALL
    SELECT 'trace_members' AS table, id, toString(trace_id) AS place FROM (
      SELECT id, trace_id, argMax(type, version) AS newest FROM trace_members WHERE ${IN_RUN} AND id IN ${ids} GROUP BY id, trace_id)
    WHERE id NOT IN (SELECT id FROM (${placed})) OR newest != '${LEFT}' AND (id, trace_id) NOT IN (SELECT id, trace FROM (${placed}))
    UNION ALL
    SELECT DISTINCT 'record_keys' AS table, id, toString(created_at) AS place FROM record_keys
    WHERE ${IN_RUN} AND id IN ${ids} AND id NOT IN (SELECT id FROM (${placed}))`;
}

/**
 * Removes the rows of these ids that belong to no record. Two processes that wrote one record at the same time have each given it a `created_at`, which
 * is part of its place; and a write that came after its record had been deleted has stored rows alone. Call it while the run is locked.
 */
export async function removeMisplaced(clickhouse: ClickHouse, run: RunRef, ids: readonly string[]): Promise<void> {
  const misplaced = await inChunks(ids, (chunk) =>
    clickhouse.query({
      name: 'misplaced rows',
      sql: misplacedSql('{ids:Array(UUID)}'),
      params: { ...runParams(run), ids: chunk },
      row: toMisplaced,
    }),
  );
  for (const [table, rows] of Map.groupBy(misplaced, (row) => row.table)) {
    const { id, place, type } = PLACES[table];
    for (let from = 0; from < rows.length; from += ROWS_PER_DELETION) {
      const taken = rows.slice(from, from + ROWS_PER_DELETION);
      const places = `{places:Array(${type})}`;
      const ids = taken.map((row) => row.id);
      await clickhouse.deleteFrom({
        table,
        where: `${IN_RUN} AND ${place} IN ${places} AND ${id} IN {ids:Array(UUID)} AND has(arrayZip({ids:Array(UUID)}, ${places}), (${id}, ${place}))`,
        params: { ...runParams(run), ids, places: taken.map((row) => row.place) },
        takes: { projectId: run.projectId, runId: run.runId, ids },
      }).gone;
    }
  }
}

const RECENTLY = 'deleted_at >= now64(6) - INTERVAL {seconds:UInt32} SECOND';

/** Finds rows that came after a deletion by the ids that deletions have noted: reads and writes need not check for them. */
export function clickhouseLateRows(clickhouse: ClickHouse): LateRows {
  const deleted = `SELECT id FROM deleted_records WHERE ${IN_RUN} AND ${RECENTLY}`;
  const inTraces = ['trace_members', 'record_keys'].map(
    (table) => `SELECT id FROM ${table} WHERE ${IN_RUN} AND trace_id IN (${deleted})`,
  );
  return {
    runs: (seconds) =>
      clickhouse.query({
        name: 'runs with deletions of late',
        sql: `SELECT DISTINCT project_id, run_id FROM deleted_records WHERE ${RECENTLY}`,
        params: { seconds },
        row(row) {
          const { project_id, run_id } = row as { project_id: string; run_id: string };
          return { projectId: project_id, runId: run_id };
        },
      }),
    ids: (run, seconds) =>
      clickhouse.query({
        name: 'late rows of deleted records',
        sql: `SELECT DISTINCT id FROM (${misplacedSql(`(${[deleted, ...inTraces].join(' UNION ALL ')})`)}) LIMIT ${MAX_LATE}`,
        params: { ...runParams(run), seconds },
        row: (row) => (row as { id: string }).id,
      }),
  };
}
