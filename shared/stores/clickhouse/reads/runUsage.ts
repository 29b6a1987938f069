import { z } from 'zod';
import { WITHOUT_COST } from '../../../columns/systemMetrics.ts';
import type { RunUsage } from '../../../experiments/runUsage.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { tracesWithUsageSql } from '../tables/usageSql.ts';

const number = z.coerce.number();
const sum = number.nullable();
const Row = z.object({ inputTokens: sum, outputTokens: sum, totalTokens: sum, cost: sum, withoutCost: number });
const JudgesRow = Row.extend({ scores: number });

const detail = (name: string, type: 'Int64' | 'Float64'): string => `JSONExtract(details, '${name}', 'Nullable(${type})')`;

/**
 * Sums up the usage of a run's traces, and that of the judges in the newest result of each score, also of one that failed. The judges' tokens are
 * unknown as soon as those of one score are.
 */
export async function runUsage(clickhouse: ClickHouse, run: RunRef): Promise<RunUsage> {
  const params = runParams(run);
  const names = ['num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost', WITHOUT_COST] as const;
  const [[own], [judges]] = await Promise.all([
    clickhouse.query({
      name: 'usage of a run',
      sql: `SELECT sumOrNull(num_input_tokens) AS inputTokens, sumOrNull(num_output_tokens) AS outputTokens, sumOrNull(num_total_tokens) AS totalTokens,
                   sumOrNull(traces.cost) AS cost, ifNull(sumOrNull(${WITHOUT_COST}), 0) AS withoutCost
              FROM (${tracesWithUsageSql(names, IN_RUN)}) AS traces`,
      params,
      row: Row,
    }),
    clickhouse.query({
      name: 'usage of judges',
      sql: `SELECT if(countIf(isNull(input)) > 0, NULL, sumOrNull(input)) AS inputTokens,
                   if(countIf(isNull(output)) > 0, NULL, sumOrNull(output)) AS outputTokens, inputTokens + outputTokens AS totalTokens,
                   sumOrNull(dollars) AS cost, countIf(isNull(dollars)) AS withoutCost, count() AS scores
              FROM (SELECT ${detail('input_tokens', 'Int64')} AS input, ${detail('output_tokens', 'Int64')} AS output, ${detail('cost', 'Float64')} AS dollars
                      FROM metric_values FINAL WHERE ${IN_RUN} AND status != 'roll_up' AND JSONHas(details, 'model_alias'))`,
      params,
      row: JudgesRow,
    }),
  ]);
  const none = { inputTokens: null, outputTokens: null, totalTokens: null, cost: null, withoutCost: 0 };
  return { run: own ?? none, judges: judges ?? { ...none, scores: 0 } };
}
