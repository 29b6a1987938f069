import type { Expiries } from '../../../projects/retention.ts';
import type { RunCounts } from '../../../projects/runs.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { unexpiredSql } from '../filters/columnSql.ts';

/** Traces, spans and sessions of runs, from the narrow columns of their newest versions. */
export const clickhouseRunCounts =
  (clickhouse: ClickHouse, expiryOf: Expiries['of']): RunCounts =>
  async (projectId, runIds) => {
    if (runIds.length === 0) return new Map();
    const { bind, params } = new Binder();
    const ofRuns = `project_id = ${bind(projectId, 'UUID')} AND run_id IN ${bind(runIds, 'Array(UUID)')}`;
    const unexpired = unexpiredSql(bind, await expiryOf(projectId, runIds), ofRuns, ['created_at', 'id']);
    const rows = await clickhouse.query({
      name: 'records of runs',
      sql: `SELECT run_id, countIf(type = 'trace') AS traces, countIf(type = 'session') AS sessions, count() AS total
            FROM records FINAL WHERE ${ofRuns}${unexpired} GROUP BY run_id`,
      params,
      row: (row) => row as { run_id: string; traces: string; sessions: string; total: string },
    });
    return new Map(
      rows.map(({ run_id, ...counts }) => {
        const [traces, sessions] = [Number(counts.traces), Number(counts.sessions)];
        return [run_id, { traces, sessions, spans: Number(counts.total) - traces - sessions }];
      }),
    );
  };
