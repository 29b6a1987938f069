import type { RunCounts } from '../../projects/runs.ts';
import type { ClickHouse } from './connect.ts';

/** Traces, spans and sessions of runs, from the narrow columns of their newest versions. */
export const clickhouseRunCounts =
  (clickhouse: ClickHouse): RunCounts =>
  async (projectId, runIds) => {
    if (runIds.length === 0) return new Map();
    const rows = await clickhouse.query({
      name: 'records of runs',
      sql: `SELECT run_id, countIf(type = 'trace') AS traces, countIf(type = 'session') AS sessions, count() AS total
            FROM records FINAL WHERE project_id = {project:UUID} AND run_id IN {runs:Array(UUID)} GROUP BY run_id`,
      params: { project: projectId, runs: runIds },
      row: (row) => row as { run_id: string; traces: string; sessions: string; total: string },
    });
    return new Map(
      rows.map(({ run_id, ...counts }) => {
        const [traces, sessions] = [Number(counts.traces), Number(counts.sessions)];
        return [run_id, { traces, sessions, spans: Number(counts.total) - traces - sessions }];
      }),
    );
  };
