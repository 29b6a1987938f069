import type { CodeSandbox } from '../codeMetrics/codeSandbox.ts';
import { MINUTE_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { ScoreContext } from '../metrics/metric.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { type Expiries, withoutExpired } from '../projects/retention.ts';
import { findColumnFor } from '../records/columnCatalog.ts';
import type { Records } from '../records/openRecords.ts';
import type { Scorers } from '../scorers/openScorers.ts';
import { judgeContext } from './judgeContext.ts';
import type { JudgedRun } from './judgedRun.ts';
import type { MarkDeps } from './markRecords.ts';
import { type RunMetricsDeps, type ScoredRunMetrics, scoredRunMetrics } from './runMetrics.ts';
import type { ScoreValuesDeps } from './scoreValues.ts';
import type { MarkStore, ScoringStore, ScoringWorkflows } from './scoring.ts';
import { createScoringStarter, type ScoringStarter } from './startScoring.ts';

export interface ScoringDeps extends RunMetricsDeps {
  models: RunMetricsDeps['models'] & Pick<ModelCaller, 'complete'>;
  /** True when a judge whose answer cannot be read is asked once more. */
  asksAgain: boolean;
  sandbox: Pick<CodeSandbox, 'score'>;
  scorings: ScoringStore;
  marks: MarkStore;
  workflows: ScoringWorkflows;
  scorers: Scorers;
  records: Pick<Records, 'reads' | 'values'>;
  /** Keys of the records that a request selects. */
  stream: MarkDeps['stream'];
  expiries: Expiries;
}

export interface Scoring extends Pick<ScoringStarter, 'start' | 'written' | 'stop'> {
  scorings: ScoringStore;
  /** Dependencies of marking the records of a request. */
  marking: MarkDeps;
  metrics: ScoredRunMetrics;
  /** Hands a judged metric its model, asked for this run. */
  contextFor(run: JudgedRun, ...rest: Parameters<ScoreValuesDeps['contextFor']>): ScoreContext;
  jobs: RecurringJob[];
}

/** Scores of what is logged, and scores that are computed anew: what is to be done, and its start. */
export function openScoring(deps: ScoringDeps): Scoring {
  const { expiries, log, marks, records, scorers, scorings } = deps;
  const { start, written, stop, reconcile, findUnseen } = createScoringStarter({
    scorings,
    workflows: deps.workflows,
    marks,
    onError: (runId, err) => log.warn({ err, runId }, 'the scoring of a run could not be started; it is tried again'),
  });
  return {
    scorings,
    marking: {
      marks,
      stream: deps.stream,
      // The columns were accepted with the request; a metric may have lost its values since, or not have any yet.
      findColumn(run, { filter, sort }) {
        const named = { filter, alsoNamed: sort ? [sort.columnId] : [], takesUnvalued: true };
        return findColumnFor(records.reads, scorers.definitions, run, named);
      },
      write: (run, values) => records.values.write(run, values),
      unexpired: (run) => withoutExpired(run, expiries),
    },
    metrics: scoredRunMetrics(deps),
    contextFor: (run, metric, ...signals) => ({
      ...judgeContext(deps.models, run, metric, ...signals, deps.asksAgain),
      runCode: (code, record) => deps.sandbox.score(run.projectId, code, record, signals[0]),
    }),
    start,
    written,
    stop,
    jobs: [
      { name: 'start-waiting-scorings', every: MINUTE_MS, atStart: true, run: reconcile },
      { name: 'find-unscored-records', every: 5 * MINUTE_MS, atStart: true, run: findUnseen },
    ],
  };
}
