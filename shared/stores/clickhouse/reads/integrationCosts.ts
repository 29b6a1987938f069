import { z } from 'zod';
import type { CostCell, CostRange, CostSources } from '../../../integrations/costs.ts';
import type { CostInterval } from '../../../wire/integrationCosts.ts';
import { TIME, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { isCounted } from '../tables/usageSql.ts';

const units: Record<CostInterval, string> = { hourly: 'HOUR', daily: 'DAY', weekly: 'WEEK', monthly: 'MONTH' };

const Cell = z
  .object({ project_id: z.string(), seconds: z.coerce.number(), usd: z.coerce.number() })
  .transform(({ project_id, seconds, usd }): CostCell => ({ projectId: project_id, at: new Date(seconds * 1_000), usd }));

/** Sums by project and interval what a column of dollars says. @param time the column that says when */
const cellsSql = (time: string, interval: CostInterval, usd: string, from: string, where: string): string =>
  `SELECT project_id, toUnixTimestamp(toDateTime(toStartOfInterval(${time}, INTERVAL 1 ${units[interval]}, 'UTC'), 'UTC')) AS seconds, sum(${usd}) AS usd
     FROM ${from} FINAL
    WHERE project_id IN {projects:Array(UUID)} AND ${time} >= {from:${TIME}} AND ${time} < {to:${TIME}} AND ${where} AND isNotNull(${usd})
    GROUP BY project_id, seconds ORDER BY seconds, project_id`;

const paramsOf = (projectIds: readonly string[], { from, to }: CostRange) => ({
  projects: projectIds,
  from: timeParam(from),
  to: timeParam(to),
});

/** Reads from records and metric_values. */
export const clickhouseIntegrationCosts = (clickhouse: ClickHouse): Pick<CostSources, 'ofRuns' | 'ofJudges'> => ({
  async ofRuns(projectIds, runIds, range) {
    if (projectIds.length === 0 || runIds.length === 0) return [];
    return clickhouse.query({
      name: 'costs of runs',
      sql: cellsSql('created_at', range.interval, 'cost', 'records', `run_id IN {runs:Array(UUID)} AND ${isCounted('cost', '')}`),
      params: { ...paramsOf(projectIds, range), runs: runIds },
      row: Cell,
    });
  },
  async ofJudges(projectIds, range) {
    if (projectIds.length === 0) return [];
    const usd = "JSONExtract(details, 'cost', 'Nullable(Float64)')";
    return clickhouse.query({
      name: 'costs of judges',
      sql: cellsSql(
        'computed_at',
        range.interval,
        usd,
        'metric_values',
        "status != 'roll_up' AND JSONHas(details, 'model_alias')",
      ),
      params: paramsOf(projectIds, range),
      row: Cell,
    });
  },
});
