import { z } from 'zod';
import { usageMetrics } from '../../../columns/systemMetrics.ts';
import { measuredMetrics } from '../../../experiments/aggregates.ts';
import type { ExperimentRun } from '../../../experiments/experiment.ts';
import type { MetricAggregates } from '../../../metrics/aggregate.ts';
import { IN_RUN } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { tracesWithUsageSql } from '../tables/usageSql.ts';
import { aggregatesOf, deviationSql, Figures, figuresSql } from './aggregateSql.ts';

const usage = usageMetrics.filter((name) => (measuredMetrics as readonly string[]).includes(name));
const Row = z.record(z.string(), z.tuple([Figures, z.number(), z.number().nullable()]));

/** Duration, token counts and cost over the traces of an experiment, in one pass. */
export async function systemAggregates(
  clickhouse: ClickHouse,
  run: Pick<ExperimentRun, 'projectId' | 'experimentId'>,
): Promise<Record<string, { aggregates: MetricAggregates; soundValues: number }>> {
  const summary = (name: string) =>
    `tuple(${figuresSql(`toNullable(toFloat64(${name}))`)}, toFloat64(countIf(isNotNull(records.${name}) AND NOT failed)), ${deviationSql(`toNullable(toFloat64(${name}))`)}) AS ${name}`;
  const [row] = await clickhouse.query({
    name: 'system metrics of a run',
    sql: `SELECT ${measuredMetrics.map(summary).join(', ')} FROM (${tracesWithUsageSql(usage, IN_RUN)}) AS records`,
    params: { project: run.projectId, run: run.experimentId },
    row: Row,
  });
  return Object.fromEntries(
    measuredMetrics.flatMap((name) => {
      const [figures, soundValues, deviation = null] = row?.[name] ?? [];
      return figures && soundValues !== undefined && figures[0] > 0
        ? [[name, { aggregates: { ...aggregatesOf(figures, 0), deviation }, soundValues }]]
        : [];
    }),
  );
}
