import { ServiceError } from '../errors/errors.ts';
import type { ExperimentRun } from '../experiments/experiment.ts';
import type { RunRef } from '../projects/runs.ts';
import { type FrozenMetric, type FrozenMetricStore, freezeMetric, type RunMetrics, thawMetric } from '../scorers/frozenMetric.ts';
import { type Judge, noJudge } from '../scorers/judge.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { versionNow } from './scoring.ts';

export interface FreezeDeps {
  frozen: FrozenMetricStore;
  /** @param underTest the run's own model */
  judgeOf(metric: EnabledMetric, underTest: string | null): Promise<Judge>;
}

/** Metrics as they are now, kept for the marks and values that name them. @param modelAlias the run's own model */
export async function freezeMetrics(
  { frozen, judgeOf }: FreezeDeps,
  runId: string,
  metrics: readonly EnabledMetric[],
  modelAlias: string | null,
): Promise<EnabledMetric[]> {
  const kept = await freezeAll(judgeOf, metrics, modelAlias);
  await frozen.keep(runId, kept);
  return kept.map(thawMetric);
}

/** Metrics with the versions that a run which begins now would have; nothing is kept. @param modelAlias the run's own model */
export const metricsNow = async (
  judgeOf: FreezeDeps['judgeOf'],
  metrics: readonly EnabledMetric[],
  modelAlias: string | null,
): Promise<EnabledMetric[]> => (await freezeAll(judgeOf, metrics, modelAlias)).map(thawMetric);

/** Returns what the run's workflow computes. The first caller freezes it; later ones get the same. */
export async function metricsOfWorkflow(
  {
    frozen,
    judgeOf,
    enabled,
    newestValue,
  }: FreezeDeps & { enabled(run: ExperimentRun): Promise<EnabledMetric[]>; newestValue(run: RunRef): Promise<number> },
  run: ExperimentRun,
  modelAlias: string | null,
): Promise<Omit<RunMetrics, 'metrics'> & { metrics: EnabledMetric[] }> {
  const { experimentId, workflowNumber } = run;
  const thawed = (found: RunMetrics) => ({ ...found, metrics: found.metrics.map(thawMetric) });
  const before = await frozen.ofRun(experimentId);
  if (before?.number === workflowNumber) return thawed(before);
  const metrics = await freezeAll(judgeOf, await enabled(run), modelAlias);
  // Above every value that stands: those of a clock that was ahead are of before this run, too.
  const newest = await newestValue({ projectId: run.projectId, runId: experimentId });
  await frozen.freeze(experimentId, workflowNumber, metrics, Math.max(versionNow(), newest + 1));
  const found = await frozen.ofRun(experimentId);
  if (found?.number !== workflowNumber) throw new ServiceError('NotFound', `experiment ${experimentId} has a newer run`);
  return thawed(found);
}

const freezeAll = (
  judgeOf: FreezeDeps['judgeOf'],
  metrics: readonly EnabledMetric[],
  modelAlias: string | null,
): Promise<FrozenMetric[]> =>
  Promise.all(
    metrics.map(async (metric) => {
      const judge = metric.needs === 'judge' ? await judgeOf(metric, modelAlias) : noJudge;
      const required = (metric.requires ?? []).map((one) => one.metric);
      return freezeMetric(metric, judge, await freezeAll(judgeOf, required, modelAlias));
    }),
  );
