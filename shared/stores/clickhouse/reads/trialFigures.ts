import { z } from 'zod';
import type { TrialFigures } from '../../../metrics/aggregate.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

const Figures = z.object({
  metric: z.string(),
  rows: z.coerce.number(),
  mean: z.number().nullable(),
  spread: z.number().nullable(),
  agreement: z.number(),
  deviation: z.number().nullable(),
});

/** Returns, by metric, how the values of a run's traces differ over the trials of a row. */
export async function trialFigures(clickhouse: ClickHouse, run: RunRef): Promise<Map<string, TrialFigures>> {
  const found = await clickhouse.query({
    name: 'figures over trials',
    sql: `SELECT metric, count() AS rows, avg(rowMean) AS mean, avg(rowSpread) AS spread, avg(rowAgreement) AS agreement,
        if(count(rowMean) > 1, stddevSampStable(rowMean), NULL) AS deviation
      FROM (
        SELECT metric, row, avg(number) AS rowMean, if(count(number) > 1, stddevSampStable(number), NULL) AS rowSpread,
            groupArray(value) AS given, arrayMax(arrayMap(one -> countEqual(given, one), given)) / length(given) AS rowAgreement
          FROM (SELECT toString(metric) AS metric, record_id, number, value FROM metric_values FINAL
                 WHERE ${IN_RUN} AND record_type = 'trace' AND status IN ('success', 'roll_up') AND value != '') AS scores
          INNER JOIN (SELECT id, assumeNotNull(dataset_row_id) AS row FROM records FINAL
                       WHERE ${IN_RUN} AND type = 'trace' AND isNotNull(dataset_row_id)) AS executions ON executions.id = scores.record_id
         GROUP BY metric, row HAVING length(given) > 1
      )
      GROUP BY metric ORDER BY metric`,
    params: runParams(run),
    row: Figures,
  });
  return new Map(found.map(({ metric, ...figures }) => [metric, figures]));
}
