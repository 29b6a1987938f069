import { z } from 'zod';
import type { ExperimentRun } from '../../experiments/experiment.ts';
import type { MetricAggregates } from '../../metrics/aggregate.ts';
import { aggregatesOf, Figures, figuresSql } from './aggregateSql.ts';
import type { ClickHouse } from './connect.ts';

/** What every row has beside its metrics. */
const measured = ['duration_ns', 'num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost'] as const;

const Row = z.record(z.string(), Figures);

/** Duration, token counts and cost over the traces of an experiment, in one pass. */
export async function systemAggregates(
  clickhouse: ClickHouse,
  run: Pick<ExperimentRun, 'projectId' | 'experimentId'>,
): Promise<Record<string, MetricAggregates>> {
  const summary = (name: string) => `${figuresSql(`toNullable(toFloat64(${name}))`)} AS ${name}`;
  const [row] = await clickhouse.query({
    name: 'system metrics of a run',
    sql: `SELECT ${measured.map(summary).join(', ')} FROM records FINAL WHERE project_id = {project:UUID} AND run_id = {run:UUID} AND type = 'trace'`,
    params: { project: run.projectId, run: run.experimentId },
    row: Row,
  });
  return Object.fromEntries(
    measured.flatMap((name) => {
      const figures = row?.[name];
      return figures && figures[0] > 0 ? [[name, aggregatesOf(figures, 0)]] : [];
    }),
  );
}
