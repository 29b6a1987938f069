import type { Logger } from 'pino';
import { RequestInvalid } from '../errors/errors.ts';
import type { ExperimentRun } from '../experiments/experiment.ts';
import type { RunLedger } from '../experiments/runLedger.ts';
import { thawMetric } from '../scorers/frozenMetric.ts';
import { type JudgeModels, judgeOfMetric, modelsOfUser } from '../scorers/judge.ts';
import type { Scorers } from '../scorers/openScorers.ts';
import { type EnabledMetric, resolveMetrics } from '../scorers/resolveMetrics.ts';
import { scorersOfRun } from '../scorers/runSettings.ts';
import type { SegmentFilter } from '../wire/scorers.ts';
import { freezeMetrics, metricsNow, metricsOfWorkflow } from './frozenMetrics.ts';
import { type JudgedRun, judgedExperiment, judgedLogs } from './judgedRun.ts';
import type { MarkedMetric, MarkStore, ScoredRun } from './scoring.ts';

export interface RunMetricsDeps {
  scorers: Pick<Scorers, 'store' | 'frozen' | 'enabledMetrics' | 'defaultJudge'>;
  ledger: Pick<RunLedger, 'find'>;
  models: JudgeModels;
  marks: Pick<MarkStore, 'newestValue'>;
  log: Pick<Logger, 'warn'>;
}

/** The metrics that a run is scored with, and the user for whom its judges are asked. */
export interface ScoredRunMetrics {
  judged(run: ScoredRun): Promise<JudgedRun>;
  /** Metrics by the ids of their scorers, as they are now. @throws RequestInvalid when one cannot be computed. */
  byScorer(run: ScoredRun, scorerIds: readonly string[]): Promise<EnabledMetric[]>;
  /** The metric that a mark names. @throws RequestInvalid when it cannot be computed. */
  byMark(run: ScoredRun, marked: MarkedMetric): Promise<EnabledMetric>;
  /** Keeps metrics as they are now for the marks that name them. */
  freeze(run: ScoredRun, metrics: readonly EnabledMetric[]): Promise<EnabledMetric[]>;
  /** Returns what the newest workflow of an experiment computes, frozen when it began. */
  frozen(run: ExperimentRun): ReturnType<typeof metricsOfWorkflow>;
  /** Returns what an experiment would compute if a run of it began now. */
  now(run: ExperimentRun): Promise<EnabledMetric[]>;
  /** Notes that an experiment's rows recorded before this were looked at. */
  looked(run: ExperimentRun, lookedTo: number): Promise<void>;
  /** Returns what is switched on for the run; metrics that cannot be computed any more are left out. */
  enabled(run: ScoredRun): Promise<{ metrics: EnabledMetric[]; segments: readonly SegmentFilter[] }>;
}

export function scoredRunMetrics({ scorers, ledger, models, marks, log }: RunMetricsDeps): ScoredRunMetrics {
  const { store, frozen, enabledMetrics } = scorers;
  const freezing = ({ projectId, createdBy }: { projectId: string; createdBy: string }) => ({
    frozen,
    judgeOf: (metric: EnabledMetric, underTest: string | null) =>
      judgeOfMetric(modelsOfUser(models, createdBy), metric, () => scorers.defaultJudge(projectId), underTest),
  });
  const judged = async (run: ScoredRun): Promise<JudgedRun> => {
    const experiment = run.kind === 'experiment' ? await ledger.find(run.runId) : undefined;
    return experiment ? judgedExperiment(experiment) : judgedLogs(run);
  };
  const byScorer = (run: ScoredRun, scorerIds: readonly string[]) => scorersOfRun(store, run.projectId, run.runId, scorerIds);
  return {
    judged,
    byScorer,
    async byMark(run, { scorerId, scorerVersion }) {
      const found = scorerVersion === '' ? undefined : await frozen.find(run.runId, scorerVersion);
      return found ? thawMetric(found) : ((await byScorer(run, [scorerId]))[0] as EnabledMetric);
    },
    freeze: async (run, metrics) => freezeMetrics(freezing(run), run.runId, metrics, (await judged(run)).modelAlias),
    frozen: (run) =>
      metricsOfWorkflow(
        { ...freezing(run), enabled: enabledMetrics, newestValue: marks.newestValue },
        run,
        judgedExperiment(run).modelAlias,
      ),
    now: async (run) => metricsNow(freezing(run).judgeOf, await enabledMetrics(run), judgedExperiment(run).modelAlias),
    looked: (run, lookedTo) => frozen.looked(run.experimentId, run.workflowNumber, lookedTo),
    async enabled({ projectId, runId }) {
      const settings = await store.runSettings(projectId, runId);
      const metrics: EnabledMetric[] = [];
      for (const config of settings?.scorers ?? []) {
        try {
          metrics.push(...(await resolveMetrics(store, [config], undefined, settings?.scorers)));
        } catch (err) {
          if (!(err instanceof RequestInvalid)) throw err;
          log.warn({ runId, scorerId: config.id, reason: err.message }, 'a metric of a log stream cannot be computed');
        }
      }
      return { metrics, segments: settings?.segmentFilters ?? [] };
    },
  };
}
