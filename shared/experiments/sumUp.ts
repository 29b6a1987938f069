import { type MetricAggregates, rollUp, type TrialFigures } from '../metrics/aggregate.ts';
import { figureInterval } from '../metrics/figureInterval.ts';
import { failedRowsOf, filling, type GapReason, type MetricCounts } from '../metrics/metricFigures.ts';
import { NO_REFERENCE } from '../metrics/reasons.ts';
import type { MetricValueStore, RunMetricCounts } from '../records/metricValues.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { ExperimentAggregates, SummedMetric } from './aggregates.ts';
import { aggregatesByCode, type ByCodeDeps } from './aggregatesByCode.ts';
import type { ExperimentRun } from './experiment.ts';
import { rankingScore } from './rankingScore.ts';
import type { RunUsage } from './runUsage.ts';
import { withRemedy } from './withRemedy.ts';

export interface SumDeps extends ByCodeDeps {
  /** Duration, token counts and cost over the experiment's traces; `soundValues` are those of rows that did not fail. */
  systemAggregates(run: ExperimentRun): Promise<Record<string, { aggregates: MetricAggregates; soundValues: number }>>;
  usage(run: ExperimentRun): Promise<RunUsage>;
  values: Pick<MetricValueStore, 'aggregate' | 'counts' | 'trials' | 'scores'>;
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
  scalesOf(run: ExperimentRun): Promise<(metric: string) => MetricScale>;
  /** Names of the columns that its rows have; undefined where it has no rows of its own and no dataset. */
  columnsOf(run: ExperimentRun): Promise<readonly string[] | undefined>;
}

/** Figures of a metric that no row has several values of. */
const noTrials: TrialFigures = { rows: 0, mean: null, spread: null, agreement: 1, deviation: null };

/**
 * Sums up every metric of an experiment's records, the callers' own metrics and records included, and counts what the figures are made of.
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
  const gapsOf = await reasonsOf(deps, run, counted);
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
    const gaps = gapsOf(name, counts);
    summed.set(name, {
      ...{ aggregates, counts, ...failedRows, judgeModel, isJudgedByModelUnderTest },
      ...(gaps.length > 0 && { gaps }),
    });
  }
  const rolledUp = [...summed].flatMap(([name, { aggregates }]) => {
    const value = rollUp(aggregates, computed.get(name)?.rollUp);
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  const metrics = [...summed].map(([name, { aggregates }]) => [name, aggregates] as const);
  const counts = [...summed].map(([name, { aggregates: _, ...made }]) => [name, made] as const);
  const intervals = [...summed].flatMap(([name, { aggregates }]) => {
    const trials = run.trials > 1 ? (overTrials?.get(name) ?? noTrials) : undefined;
    const interval = figureInterval({ aggregates, rollUp: computed.get(name)?.rollUp, rows, trials, range: scaleOf(name).range });
    return interval ? [[name, interval] as const] : [];
  });
  const byCode = await aggregatesByCode(deps, where, computed.values());
  return {
    metrics: Object.fromEntries(metrics),
    rolledUp: Object.fromEntries(rolledUp),
    intervals: Object.fromEntries(intervals),
    rows,
    rowsFailed,
    rankingScore: rankingScore(Object.fromEntries(rolledUp), scaleOf),
    counts: Object.fromEntries(counts),
    usage,
    ...(Object.keys(byCode).length > 0 ? { byCode } : {}),
    ...(overTrials ? { overTrials: Object.fromEntries(overTrials) } : {}),
  };
}

/** Why metrics have no value of some rows, with what would mend it where the columns of the rows show that. */
async function reasonsOf(
  deps: Pick<SumDeps, 'columnsOf'>,
  run: ExperimentRun,
  { rows, rowsFailed, gaps, waiting }: RunMetricCounts,
): Promise<(metric: string, counts: MetricCounts) => readonly GapReason[]> {
  const lacksReference = [...gaps.values()].flat().some(({ message }) => message === NO_REFERENCE);
  const columns = lacksReference ? await deps.columnsOf(run) : undefined;
  return (metric, { values, missing }) => {
    const known = gaps.get(metric) ?? [];
    if (values > 0 || known.length > 0) return known.map((gap) => ({ ...gap, message: withRemedy(gap.message, columns) }));
    if (rows > 0 && rows === rowsFailed) return [{ status: 'not_applicable', message: 'all rows failed', count: rows }];
    const message = waiting.has(metric) ? 'its values are still to be computed' : 'nothing has computed it';
    return missing > 0 ? [{ status: 'not_computed', message, count: missing }] : [];
  };
}
