import type { FindStraddling } from '../../../projects/retention.ts';
import type { RunRef } from '../../../projects/runs.ts';
import type { ErasedKey } from '../../../records/eraseRecords.ts';
import type { ExpiredReads } from '../../../records/sweepExpired.ts';
import { IN_RUN, runParams, TIME, timeOfColumn, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

/** Ids that reads name in a statement; more are found by the statement itself. */
const MAX_KEPT = 1_000;
const BEFORE = `{before:${TIME}}`;
const IN_RUNS = 'project_id = {project:UUID} AND run_id IN {runs:Array(UUID)}';

/** Finds records on both sides of the time of expiry. The record table is ordered by time, so the older side is read alone. */
export const clickhouseStraddling =
  (clickhouse: ClickHouse): FindStraddling =>
  async (projectId, runIds, before) => {
    const params = { project: projectId, runs: [...runIds], before: timeParam(before) };
    const [any] = await clickhouse.query({
      name: 'any expired record',
      sql: `SELECT 1 AS yes FROM records WHERE ${IN_RUNS} AND created_at < ${BEFORE} LIMIT 1`,
      params,
      row: () => true,
    });
    if (!any) return [];
    // Stale versions count as well: one of a record that was moved keeps the trace that it left until the next sweep.
    const older = `(SELECT ifNull(trace_id, id) FROM records WHERE ${IN_RUNS} AND created_at < ${BEFORE})`;
    const kept = await clickhouse.query({
      name: 'traces and sessions on both sides of a retention',
      sql: `SELECT DISTINCT arrayJoin([assumeNotNull(trace_id), session_id]) AS container FROM records
            WHERE ${IN_RUNS} AND created_at >= ${BEFORE} AND isNotNull(trace_id) AND (trace_id IN ${older} OR session_id IN ${older})
            HAVING container IN ${older} LIMIT ${MAX_KEPT + 1}`,
      params,
      row: (row) => (row as { container: string }).container,
    });
    return kept.length > MAX_KEPT ? 'many' : kept;
  };

/** Finds the runs and records that a sweep of expired records takes. */
export const clickhouseExpired = (clickhouse: ClickHouse): ExpiredReads => ({
  runs: (projectId, before) =>
    clickhouse.query({
      name: 'runs with expired records',
      sql: `SELECT DISTINCT toString(run_id) AS run FROM records WHERE project_id = {project:UUID} AND (created_at < ${BEFORE} OR created_at > now() + INTERVAL 1 DAY)`,
      params: { project: projectId, before: timeParam(before) },
      row: (row) => (row as { run: string }).run,
    }),

  older(run, before, after, limit) {
    return clickhouse.query({
      name: 'expired records',
      sql: `SELECT ${expired} FROM records WHERE ${IN_RUN} AND created_at < ${BEFORE}${behind(after)} ORDER BY created_at, id LIMIT ${limit}`,
      params: expiredParams(run, before, after),
      row: toExpired,
    });
  },

  dated(run, before, after, limit) {
    return clickhouse.query({
      name: 'old records of the future',
      sql: `SELECT ${expired} FROM records FINAL WHERE ${IN_RUN} AND created_at > now() + INTERVAL 1 DAY AND updated_at < ${BEFORE}${behind(after)} ORDER BY created_at, id LIMIT ${limit}`,
      params: expiredParams(run, before, after),
      row: toExpired,
    });
  },
});

const expired = 'id, created_at, type, assumeNotNull(ifNull(trace_id, id)) AS container';

const behind = (after: ErasedKey | undefined): string =>
  after === undefined ? '' : ` AND (created_at, id) > ({time:${TIME}}, {after:UUID})`;

const expiredParams = (run: RunRef, before: string, after: ErasedKey | undefined) => ({
  ...runParams(run),
  before: timeParam(before),
  ...(after === undefined ? {} : { time: timeParam(after.created_at), after: after.id }),
});

function toExpired(row: unknown) {
  const { id, created_at, type, container } = row as { id: string; created_at: string; type: string; container: string };
  return { id, created_at: timeOfColumn(created_at), isSession: type === 'session', container };
}
