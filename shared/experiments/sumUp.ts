import { type MetricAggregates, rollUp } from '../metrics/aggregate.ts';
import { failedRowsOf, filling, type MetricCounts } from '../metrics/metricFigures.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { ExperimentAggregates, SummedMetric } from './aggregates.ts';
import type { ExperimentRun } from './experiment.ts';
import { rankingScore } from './rankingScore.ts';
import type { RunUsage } from './runUsage.ts';

export interface SumDeps {
  /** Duration, token counts and cost over the experiment's traces; `soundValues` are those of rows that did not fail. */
  systemAggregates(run: ExperimentRun): Promise<Record<string, { aggregates: MetricAggregates; soundValues: number }>>;
  usage(run: ExperimentRun): Promise<RunUsage>;
  values: Pick<MetricValueStore, 'aggregate' | 'counts' | 'trials'>;
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
  scalesOf(run: ExperimentRun): Promise<(metric: string) => MetricScale>;
}

/**
 * Sums up every metric of what an experiment holds, the callers' own ones included, whoever has recorded it, and counts what the figures are made of.
 * Every figure of an experiment that is shown anywhere was made here, or of other rows in the same way by `metricFigures`.
 */
export async function sumUp(deps: SumDeps, run: ExperimentRun): Promise<ExperimentAggregates> {
  const where = { projectId: run.projectId, runId: run.experimentId };
  const [computed, scaleOf, system, counted, usage, overTrials] = await Promise.all([
    deps.metricsOf(run).then((metrics) => new Map(metrics.map((metric) => [metric.name, metric]))),
    deps.scalesOf(run),
    deps.systemAggregates(run),
    deps.values.counts(where),
    deps.usage(run),
    run.trials > 1 ? deps.values.trials(where) : undefined,
  ]);
  const { rows, rowsFailed } = counted;
  const unscored: MetricCounts = {
    ...{ values: 0, missing: rows - rowsFailed, failed: 0, notApplicable: 0 },
    failedRowsWithoutValue: rowsFailed,
  };
  const summed = new Map<string, SummedMetric>();
  for (const [name, { aggregates, soundValues }] of Object.entries(system)) {
    const counts = {
      ...{ values: aggregates.count, missing: rows - rowsFailed - soundValues, failed: 0, notApplicable: 0 },
      failedRowsWithoutValue: rowsFailed - (aggregates.count - soundValues),
    };
    summed.set(name, { aggregates, counts, failedRows: 'omit', worst: null });
  }
  for (const name of new Set([...computed.keys(), ...counted.metrics.keys()])) {
    const counts = counted.metrics.get(name) ?? unscored;
    const failedRows = failedRowsOf(run.failedRows, scaleOf(name));
    const plain = await deps.values.aggregate(where, name);
    const times = counts.failedRowsWithoutValue;
    const isBoolean = plain.count > 0 ? plain.pct !== null : computed.get(name)?.dataType === 'boolean';
    const aggregates =
      failedRows.worst === null || times === 0
        ? plain
        : await deps.values.aggregate(where, name, { value: filling(failedRows.worst, isBoolean), times });
    const { judgeModel = null, isJudgedByModelUnderTest = false } = computed.get(name) ?? {};
    summed.set(name, { aggregates, counts, ...failedRows, judgeModel, isJudgedByModelUnderTest });
  }
  const rolledUp = [...summed].flatMap(([name, { aggregates }]) => {
    const value = rollUp(aggregates, computed.get(name)?.rollUp);
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  const metrics = [...summed].map(([name, { aggregates }]) => [name, aggregates] as const);
  const counts = [...summed].map(([name, { aggregates: _, ...made }]) => [name, made] as const);
  return {
    metrics: Object.fromEntries(metrics),
    rolledUp: Object.fromEntries(rolledUp),
    rows,
    rowsFailed,
    rankingScore: rankingScore(Object.fromEntries(rolledUp), scaleOf),
    counts: Object.fromEntries(counts),
    usage,
    ...(overTrials ? { overTrials: Object.fromEntries(overTrials) } : {}),
  };
}
