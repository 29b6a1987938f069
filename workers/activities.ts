import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import { ServiceError } from '../shared/errors.ts';
import { type Notices, offerRows } from '../shared/experiments/callerRows.ts';
import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { OfferedRows } from '../shared/experiments/offeredRows.ts';
import { attemptNumber, type RowLog, type RowSourceReader } from '../shared/experiments/rowLog.ts';
import type { RunLedger } from '../shared/experiments/runLedger.ts';
import { type AttemptLog, type ChunkProgress, type RowRunner, runRows } from '../shared/experiments/runRows.ts';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';
import { mayPass, untilStored } from '../shared/experiments/untilStored.ts';
import {
  type Chunk,
  type ChunkOutcome,
  type ProgressReport,
  progressSignal,
  type RunPlan,
} from '../shared/experiments/workflow.ts';
import type { EnabledMetric } from '../shared/scorers/resolveMetrics.ts';
import { mustGiveUp } from './giveUp.ts';
import { type ScoreRangeDeps, scoreRange } from './scoreRange.ts';

export interface ActivityDeps {
  ledger: RunLedger;
  workflows: RunWorkflows;
  rows: RowSourceReader;
  rowLog: RowLog;
  attempts: AttemptLog;
  offered: OfferedRows;
  notices: Notices;
  /** Makes the runner of an experiment. @throws ServiceError when its template, model or module cannot be had. */
  createRunner(run: ExperimentRun): Promise<RowRunner>;
  /** The metrics that the run's settings name, frozen at the first call of its workflow. */
  freezeMetrics(run: ExperimentRun): Promise<EnabledMetric[]>;
  scoring: ScoreRangeDeps;
  /** Says how many rows of a part of the run this worker has in its hands. */
  publishRunning(run: ExperimentRun, part: string, rowsRunning: number): void;
  countRows(run: ExperimentRun): Promise<number>;
  /** Removes what a crash may have left beside the recorded traces, computes the aggregates. */
  settleRecords(run: ExperimentRun): Promise<unknown>;
  log: Logger;
}

interface RunRef {
  experimentId: string;
  projectId: string;
  number: number;
}

const HEARTBEAT_MS = 1_000;
/** Executions of a run's last step after which it ends without aggregates: with the pauses between them some 3 minutes. */
const SETTLE_ATTEMPTS = 10;
/** Milliseconds between two reports to the workflow: at first this, later a twentieth of the time gone, so that histories stay short. */
const REPORT_MS = 2_000;
/** Milliseconds between two words about the rows in this worker's hands. */
const PUBLISH_MS = 500;

/**
 * What the workflows may ask for. Each is a thin shell over the domain and safe to run twice.
 * @param ending aborts when the worker ends. Its activities are called back then, but one that its workflow had called back before is not told again
 */
export function createActivities(deps: ActivityDeps, ending: AbortSignal) {
  const findRun = async ({ experimentId, number }: RunRef): Promise<ExperimentRun> => {
    const run = await deps.ledger.find(experimentId);
    if (!run) throw ended(`experiment ${experimentId} was deleted`);
    if (run.workflowNumber !== number) throw ended(`experiment ${experimentId} has a newer run`);
    return run;
  };

  const stored = <T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    untilStored(operation, signal, (err) => deps.log.error({ err }, 'a store operation failed; it is tried again'));

  /**
   * The aggregates; without them, and with the reason, when they cannot be had: a run must end. An execution that fails is repeated, so this is so
   * only after some minutes of trying.
   * @param waits whether a store that is away is waited for however long it takes
   */
  const settled = async (run: ExperimentRun, waits: boolean): Promise<{ aggregates: unknown; error: string | null }> => {
    try {
      return { aggregates: await deps.settleRecords(run), error: null };
    } catch (err) {
      const isAway = err instanceof ServiceError && !err.permanent;
      const isFinal = err instanceof ServiceError && !mayPass(err);
      if ((isAway && waits) || (!isFinal && Context.current().info.attempt < SETTLE_ATTEMPTS)) throw err;
      deps.log.error({ err, experimentId: run.experimentId }, 'a run ends without aggregates');
      const reason = err instanceof ServiceError ? err.message : 'an internal error, see the log';
      return { aggregates: null, error: `the aggregates could not be computed: ${reason}` };
    }
  };

  return {
    /** Freezes what the run will do. Metrics that cannot be had fail the run before any row is paid for. */
    planExperiment: (ref: RunRef): Promise<RunPlan> =>
      beating(async () => {
        const run = await findRun(ref);
        await deps.ledger.setState(run.experimentId, ['requested'], 'running');
        const metrics = await deps.freezeMetrics(run);
        return {
          experimentName: run.name,
          projectName: run.projectName,
          groupName: run.groupName,
          runnerKind: run.runner.kind,
          rowCount: run.rowCount,
          concurrency: run.settings.concurrency,
          runsRows: run.rowsToRun !== 'none',
          metrics: metrics.map((metric) => metric.name),
          // A judge's model may be that of the rows: it would see more calls at once than the run's concurrency.
          scoresAlong: metrics.length > 0 && metrics.every((metric) => metric.needs === 'code'),
        };
      }),

    /** Runs the rows of a chunk that are not recorded yet. Ids are a pure function of (experiment, row, trial), so a second run finds the first one's rows. */
    runRows: (chunk: Chunk): Promise<ChunkOutcome> =>
      guarded(async () => {
        const run = await findRun(chunk);
        const context = Context.current();
        const attempt = attemptNumber(run.workflowNumber, chunk.round, context.info.attempt);
        const part = `${chunk.from}-${chunk.to}`;
        const recorded = { from: chunk.from, to: chunk.from };
        let running = 0;
        let publishedAt = 0;
        const publish = () => {
          publishedAt = Date.now();
          deps.publishRunning(run, part, running);
        };
        const reports = reportTo(run, async () => ({ rowsDone: await deps.countRows(run), recorded }), publish);
        const onProgress = (progress: ChunkProgress) => {
          recorded.to = progress.recordedTo;
          running = progress.running;
          if (Date.now() - publishedAt >= PUBLISH_MS) publish();
        };
        try {
          if (run.runner.kind === 'caller_function') {
            return await offerRows(
              {
                ...deps,
                log: deps.rowLog,
                untilStored: stored,
                onProgress,
                now: Date.now,
                // Rows in the hands of a caller outlive this worker: the caller brings them back to the next one.
                mustGiveUp: async () => (ending.aborted ? undefined : mustGiveUp(deps, run, context, ending)),
              },
              run,
              chunk,
              attempt,
              context.cancellationSignal,
            );
          }
          const runner = await deps.createRunner(run);
          try {
            const given = {
              rows: deps.rows,
              log: deps.rowLog,
              attempts: deps.attempts,
              runner,
              untilStored: stored,
              onProgress,
              now: Date.now,
            };
            return await runRows(given, run, chunk, attempt, context.cancellationSignal, () =>
              mustGiveUp(deps, run, context, ending),
            );
          } finally {
            await runner.close();
          }
        } finally {
          reports.stop();
          running = 0;
          publish();
        }
      }),

    /** Computes the values that the rows of a chunk lack. */
    scoreRows: (chunk: Chunk): Promise<ChunkOutcome> =>
      guarded(async () => {
        const run = await findRun(chunk);
        let done = 0;
        const reports = reportTo(run, async () => ({ scoresDone: chunk.from + done }));
        try {
          return await scoreRange(deps.scoring, run, chunk, ending, (rows) => {
            done = rows;
          });
        } finally {
          reports.stop();
        }
      }),

    /** Aggregates and the final state, in this order: progress is complete only when the aggregates are there. */
    finishExperiment: (ref: RunRef): Promise<void> =>
      beating(async () => {
        const run = await findRun(ref);
        await deps.ledger.end(ref.experimentId, ref.number, 'completed', await settled(run, true));
        deps.notices.notify(ref.experimentId);
      }),

    /** Ends a run that was cancelled or cannot go on; what is recorded stays and is aggregated. */
    endExperiment: (ref: RunRef, state: 'failed' | 'cancelled', error: string | null): Promise<void> =>
      beating(async () => {
        const run = await deps.ledger.find(ref.experimentId);
        if (!run || run.workflowNumber !== ref.number) return;
        const { aggregates, error: missing } = await settled(run, false);
        const reasons = [error, missing].filter((reason) => reason !== null);
        // Postgres holds no NUL, and what a row or a model said may be part of the reason.
        const reason = reasons.length === 0 ? null : reasons.join('; ').replaceAll('\u0000', '');
        await deps.ledger.end(ref.experimentId, ref.number, state, { error: reason, aggregates });
        deps.notices.notify(ref.experimentId);
      }),

    markPaused: (ref: RunRef, paused: boolean): Promise<void> =>
      beating(async () => {
        await deps.ledger.setState(
          ref.experimentId,
          paused ? ['running', 'requested'] : ['paused'],
          paused ? 'paused' : 'running',
        );
        deps.notices.notify(ref.experimentId);
      }),
  };

  /** Heartbeats while an activity works, and tells the workflow how far it is, so that Temporal's own pages show it. */
  function reportTo(run: ExperimentRun, report: () => Promise<ProgressReport>, beat = () => {}) {
    const context = Context.current();
    const start = Date.now();
    let reported = start;
    const timer = setInterval(() => {
      context.heartbeat();
      beat();
      const now = Date.now();
      if (now - reported < Math.max(REPORT_MS, (now - start) / 20)) return;
      reported = now;
      report()
        .then((progress) => deps.workflows.signal(run.experimentId, run.workflowNumber, progressSignal, progress))
        .catch((err: unknown) => deps.log.debug({ err, experimentId: run.experimentId }, 'progress was not reported'));
    }, HEARTBEAT_MS);
    context.heartbeat();
    return { stop: () => clearInterval(timer) };
  }
}

export type Activities = ReturnType<typeof createActivities>;

/** Work that heartbeats until it is done. */
export const beating = <T>(work: () => Promise<T>): Promise<T> =>
  guarded(async () => {
    const context = Context.current();
    const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  });

const ended = (message: string) => ApplicationFailure.create({ message, type: 'RunEnded', nonRetryable: true });

/** Only what can never succeed is marked so; everything else the retry policy heals. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (err instanceof ServiceError && !mayPass(err))
      throw ApplicationFailure.create({ message: err.message, type: err.code, nonRetryable: true, cause: err });
    throw err;
  }
}
