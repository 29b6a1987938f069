import { z } from 'zod';
import type { ExperimentRun } from '../../experiments/experiment.ts';
import type { MetricAggregates } from '../../metrics/aggregate.ts';
import type { ClickHouse } from './connect.ts';

/** What every row has beside its metrics, as the aggregates name it, and where it stands. Cost has no column of its own. */
export const measured = {
  duration_ns: 'duration_ns',
  num_input_tokens: 'num_input_tokens',
  num_output_tokens: 'num_output_tokens',
  num_total_tokens: 'num_total_tokens',
  cost: "if(JSONHas(metrics_extra, 'cost'), JSONExtractFloat(metrics_extra, 'cost'), NULL)",
} as const;

const number = z.number().nullable();
const Row = z.record(z.string(), z.tuple([z.number(), number, number, number, number, z.array(number).nullable()]));

/** Duration, token counts and cost over the traces of an experiment, in one pass. */
export async function systemAggregates(
  clickhouse: ClickHouse,
  run: Pick<ExperimentRun, 'projectId' | 'experimentId'>,
): Promise<Record<string, MetricAggregates>> {
  const names = Object.keys(measured) as (keyof typeof measured)[];
  const summary = (name: keyof typeof measured) => {
    const value = `toNullable(toFloat64(${measured[name]}))`;
    return `tuple(toFloat64(count(${value})), avgOrNull(${value}), sumOrNull(${value}), minOrNull(${value}), maxOrNull(${value}), quantilesExactOrNull(0.5, 0.9, 0.95, 0.99)(${value})) AS ${name}`;
  };
  const [row] = await clickhouse.query({
    name: 'system metrics of a run',
    sql: `SELECT ${names.map(summary).join(', ')} FROM records FINAL WHERE project_id = {project:UUID} AND run_id = {run:UUID} AND type = 'trace'`,
    params: { project: run.projectId, run: run.experimentId },
    row: Row,
  });
  return Object.fromEntries(
    names.flatMap((name) => {
      const [count, avg, sum, min, max, quantiles] = row?.[name] ?? [0, null, null, null, null, null];
      if (count === 0) return [];
      const [p50 = null, p90 = null, p95 = null, p99 = null] = quantiles ?? [];
      return [
        [name, { count, avg, sum, min, max, pct: null, p50, p90, p95, p99, valueDistribution: null } satisfies MetricAggregates],
      ];
    }),
  );
}
