import type { FindWouldExpire } from '../../../projects/retention.ts';
import { timeOfMicros } from '../../../wire/time.ts';
import { TIME, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

/**
 * Counts what a retention would take of a project: traces with all of their records, by their newest one. Only traces that have an older record are
 * grouped. Sessions, and records that are dated ahead, are not counted.
 */
export const clickhouseWouldExpire =
  (clickhouse: ClickHouse): FindWouldExpire =>
  async (projectId, before, already) => {
    const [found] = await clickhouse.query({
      name: 'what a retention would take',
      sql: `SELECT count() AS traces, sum(records) AS records, toUnixTimestamp64Micro(min(oldest)) AS oldest FROM (
              SELECT ifNull(trace_id, id) AS container, count() AS records, min(created_at) AS oldest, max(created_at) AS newest
              FROM records FINAL
              WHERE project_id = {project:UUID} AND type != 'session'
                AND ifNull(trace_id, id) IN (SELECT ifNull(trace_id, id) FROM records WHERE project_id = {project:UUID} AND created_at < {before:${TIME}})
              GROUP BY container HAVING newest < {before:${TIME}}${already === null ? '' : ` AND newest >= {already:${TIME}}`})`,
      params: {
        project: projectId,
        before: timeParam(before),
        ...(already === null ? {} : { already: timeParam(already) }),
      },
      row: (row) => row as Record<'traces' | 'records' | 'oldest', string>,
    });
    const traces = Number(found?.traces ?? 0);
    return {
      traces,
      records: Number(found?.records ?? 0),
      oldest: traces === 0 ? null : timeOfMicros(BigInt(found?.oldest ?? 0)),
    };
  };
