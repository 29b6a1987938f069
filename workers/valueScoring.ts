import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { onAbort } from '../shared/concurrency/onAbort.ts';
import { abortAfterGrace } from '../shared/experiments/abortAfterGrace.ts';
import { type ExperimentRun, runsRows } from '../shared/experiments/experiment.ts';
import { computedMetrics } from '../shared/experiments/rerun.ts';
import { firstAttemptOf } from '../shared/experiments/rowLog.ts';
import { untilStored } from '../shared/experiments/untilStored.ts';
import { NotNow, type ScoreContext } from '../shared/metrics/metric.ts';
import type { RunRef } from '../shared/projects/runs.ts';
import type { EnabledMetric } from '../shared/scorers/resolveMetrics.ts';
import type { JudgedRun } from '../shared/scoring/judgedRun.ts';
import { lackingValues, type MarkDeps, type Marked, markJudged } from '../shared/scoring/markRecords.ts';
import { type ScoreValuesDeps, type ScoreValuesOptions, scoreValues } from '../shared/scoring/scoreValues.ts';
import type { MarkedValue } from '../shared/scoring/scoring.ts';
import { activityLease, type LeaseDeps } from './activityLease.ts';
import { CANCEL_GRACE_MS, type GiveUpDeps, mustGiveUp, STOP_GRACE_MS } from './giveUp.ts';

export interface ValueScoringDeps
  extends Pick<ScoreValuesDeps, 'records' | 'recordSizes' | 'rowValues' | 'write' | 'rollUpReads' | 'onStored'>,
    Pick<GiveUpDeps, 'ledger'> {
  workflows: GiveUpDeps['workflows'] & LeaseDeps['workflows'];
  marking: MarkDeps;
  contextFor(run: JudgedRun, ...rest: Parameters<ScoreValuesDeps['contextFor']>): ReturnType<ScoreValuesDeps['contextFor']>;
  log: Logger;
}

/** The metrics that an experiment's newest workflow computes; times are in microseconds. */
export interface FrozenRun {
  metrics: EnabledMetric[];
  frozenAt: number;
  lookedTo: number;
}

type Lanes = Pick<ScoreValuesOptions, 'lanes' | 'stopping' | 'givenUp' | 'confirm'>;

/** Lanes for values of plain code: they take turns anyway, and few of them wait for anything. */
const CODE_LANES = 20;

/** Creates the functions that all scoring activities share. @param ending aborts when the worker ends */
export function valueScoring(deps: ValueScoringDeps, ending: AbortSignal) {
  const { marking } = deps;

  const values = (judged: JudgedRun) => ({
    records: deps.records,
    recordSizes: deps.recordSizes,
    rowValues: deps.rowValues,
    write: deps.write,
    rollUpReads: deps.rollUpReads,
    onStored: deps.onStored,
    contextFor: (...rest: Parameters<ScoreValuesDeps['contextFor']>) => {
      const [, , stopping] = rest;
      return leavingCode(deps.contextFor(judged, ...rest), stopping, ending);
    },
    untilStored: <T>(operation: () => Promise<T>, signal: AbortSignal) =>
      untilStored(operation, signal, (err) => deps.log.error({ err }, 'a store operation failed; it is tried again')),
  });

  /** Computes with so many lanes until it is cancelled, then as long as the run lets values in flight end. */
  const inLanes = async <T>(lanes: number, run: ExperimentRun | undefined, work: (options: Lanes) => Promise<T>): Promise<T> => {
    const context = Context.current();
    const lease = activityLease(context, deps);
    const stopping = AbortSignal.any([context.cancellationSignal, lease.lost]);
    const givenUp = abortAfterGrace(stopping, async () =>
      lease.lost.aborted ? 0 : run ? mustGiveUp(deps, run, context, ending) : ending.aborted ? STOP_GRACE_MS : CANCEL_GRACE_MS,
    );
    try {
      return await work({ lanes, stopping, givenUp: givenUp.signal, confirm: () => lease.confirm(stopping) });
    } finally {
      givenUp.end();
    }
  };

  /** Computes values of plain code and marks those of judges. `more` where it was cancelled before all of them were. */
  const computeOrMark = (
    run: RunRef,
    experiment: ExperimentRun | undefined,
    judged: JudgedRun,
    found: AsyncIterable<MarkedValue>,
    metrics: readonly EnabledMetric[],
  ): Promise<{ marked: Marked | undefined; scored: number; more: boolean }> =>
    inLanes(CODE_LANES, experiment, async (options) => {
      const byName = new Map(metrics.map((metric) => [metric.name, metric]));
      let marked: Marked | undefined;
      const onMarked = (all: Marked) => {
        marked = all;
      };
      const code = markJudged(marking, run, found, metrics, onMarked, options.stopping);
      const { scored, more } = await scoreValues(
        {
          ...values(judged),
          metricOf: ({ metric }) => byName.get(metric) as EnabledMetric,
          onProgress: () => undefined,
        },
        run,
        code,
        { ...options, judged: false, showsComputing: false, until: Number.POSITIVE_INFINITY },
      );
      return { marked, scored, more: more || marked === undefined };
    });

  /** Finds the values that an experiment's rows lack. A value that failed in this run and is not tried again in it is not among them. */
  const lacking = (run: ExperimentRun, frozen: FrozenRun, of: { since?: number; traceIds?: string[] }) => {
    const { rowsToRun } = run;
    return lackingValues(
      marking,
      { projectId: run.projectId, runId: run.experimentId },
      { ...frozen, metrics: computedMetrics(run, frozen.metrics) },
      {
        ...of,
        unknownCounts: runsRows(run),
        // A run over chosen rows leaves the other rows as they are, except for scores of outputs that a cancelled run has replaced.
        ...(rowsToRun === 'chosen'
          ? { attempts: { from: firstAttemptOf(run.workflowNumber), leftFrom: firstAttemptOf(run.scoresLeftFrom) } }
          : {}),
        ...(rowsToRun === 'scores' && run.rerun?.of ? { states: run.rerun.of.states } : {}),
      },
    );
  };

  return { values, inLanes, computeOrMark, lacking };
}

/**
 * The context in which a worker that ends leaves code at once, which may loop or wait for an interpreter: to run it again costs nothing, and the process
 * has little time for its end. Judges, who were paid, have theirs.
 */
function leavingCode(context: ScoreContext, stopping: AbortSignal, ending: AbortSignal): ScoreContext {
  const { runCode } = context;
  if (!runCode) return context;
  return {
    ...context,
    runCode: (code, record) =>
      new Promise((resolve, reject) => {
        const forget = onAbort(stopping, () => {
          if (ending.aborted) reject(new NotNow('the code is run later'));
        });
        void runCode(code, record).then(resolve, reject).finally(forget);
      }),
  };
}
