import { type MetricAggregates, rollUp } from '../metrics/aggregate.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ExperimentAggregates } from './aggregates.ts';
import type { ExperimentRun } from './experiment.ts';

export interface SumDeps {
  /** Duration, token counts and cost over the experiment's traces. */
  systemAggregates(run: ExperimentRun): Promise<Record<string, MetricAggregates>>;
  values: Pick<MetricValueStore, 'aggregate' | 'names'>;
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
}

export interface SettleDeps extends SumDeps {
  /** Removes spans that an attempt left behind whose trace a later attempt replaced. @returns how many */
  deleteStraySpans(run: ExperimentRun): Promise<number>;
  /** Takes back what is marked to be computed and was not: a run that has ended pays for nothing more. */
  unmark(run: ExperimentRun): Promise<void>;
}

/** The last step of a run: tidies what crashes may have left, then sums up. */
export async function settleRun(deps: SettleDeps, run: ExperimentRun): Promise<ExperimentAggregates> {
  await deps.unmark(run);
  // Strays are rare, and only their own scores go with them: the sums begin at once.
  const [strays, sums] = await Promise.all([deps.deleteStraySpans(run), sumUp(deps, run)]);
  return strays > 0 ? sumUp(deps, run) : sums;
}

/** Sums up every metric of what an experiment holds, the callers' own ones included, whoever has recorded it. */
export async function sumUp(deps: SumDeps, run: ExperimentRun): Promise<ExperimentAggregates> {
  const where = { projectId: run.projectId, runId: run.experimentId };
  const metricsOf = deps.metricsOf(run).then((metrics) => new Map(metrics.map((metric) => [metric.name, metric])));
  const scores = async () => {
    const summed: Record<string, MetricAggregates> = {};
    const sum = async (names: Iterable<string>) => {
      for (const name of names) summed[name] ??= await deps.values.aggregate(where, name);
    };
    const [found] = await Promise.all([deps.values.names(where), metricsOf.then((enabled) => sum(enabled.keys()))]);
    await sum(found);
    return summed;
  };
  const [enabled, system, summed] = await Promise.all([metricsOf, deps.systemAggregates(run), scores()]);
  const metrics: Record<string, MetricAggregates> = { ...system, ...summed };
  const rolledUp = Object.entries(metrics).flatMap(([name, aggregates]) => {
    const value = rollUp(aggregates, enabled.get(name)?.rollUp);
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return { metrics, rolledUp: Object.fromEntries(rolledUp) };
}
