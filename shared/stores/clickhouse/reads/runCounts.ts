import type { Expiries } from '../../../projects/retention.ts';
import type { NewestRecords, RunCounts } from '../../../projects/runs.ts';
import { timeOfMicros } from '../../../wire/time.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { unexpiredSql } from '../filters/columnSql.ts';

/** Traces, spans and sessions of runs and the time of the newest, from the narrow columns of their newest versions. */
export const clickhouseRunCounts =
  (clickhouse: ClickHouse, expiryOf: Expiries['of']): RunCounts =>
  async (projectId, runIds) => {
    if (runIds.length === 0) return new Map();
    const { bind, params } = new Binder();
    const ofRuns = `project_id = ${bind(projectId, 'UUID')} AND run_id IN ${bind(runIds, 'Array(UUID)')}`;
    const unexpired = unexpiredSql(bind, await expiryOf(projectId, runIds), ofRuns, ['created_at', 'id']);
    const rows = await clickhouse.query({
      name: 'records of runs',
      sql: `SELECT run_id, countIf(type = 'trace') AS traces, countIf(type = 'session') AS sessions, count() AS total,
                toUnixTimestamp64Micro(max(created_at)) AS newest
            FROM records FINAL WHERE ${ofRuns}${unexpired} GROUP BY run_id`,
      params,
      row: (row) => row as Record<'run_id' | 'traces' | 'sessions' | 'total' | 'newest', string>,
    });
    return new Map(
      rows.map(({ run_id, ...counts }) => {
        const [traces, sessions] = [Number(counts.traces), Number(counts.sessions)];
        return [
          run_id,
          { traces, sessions, spans: Number(counts.total) - traces - sessions, newestAt: timeOfMicros(BigInt(counts.newest)) },
        ];
      }),
    );
  };

/**
 * When the newest records of projects were made. A record keeps its time through all its versions, so one narrow column is read without merging them.
 * Records that have expired are not left out.
 */
export const clickhouseNewestRecords =
  (clickhouse: ClickHouse): NewestRecords =>
  async (projectIds) => {
    if (projectIds.length === 0) return new Map();
    const rows = await clickhouse.query({
      name: 'newest records of projects',
      sql: `SELECT project_id, toUnixTimestamp64Micro(max(created_at)) AS newest
            FROM records WHERE project_id IN {projects:Array(UUID)} GROUP BY project_id`,
      params: { projects: projectIds },
      row: (row) => row as Record<'project_id' | 'newest', string>,
    });
    return new Map(rows.map(({ project_id, newest }) => [project_id, timeOfMicros(BigInt(newest))]));
  };
