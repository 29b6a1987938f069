import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Coordination } from '../shared/coordination/coordination.ts';
import { RequestInvalid, ServiceError } from '../shared/errors/errors.ts';
import { type Notices, offerRows } from '../shared/experiments/callerRows.ts';
import { type ExperimentRow, type ExperimentRun, runsRows } from '../shared/experiments/experiment.ts';
import type { OfferedRows } from '../shared/experiments/offeredRows.ts';
import { computedMetrics } from '../shared/experiments/rerun.ts';
import { attemptNumber, type RowLog, type RunRowReader } from '../shared/experiments/rowLog.ts';
import type { RowMemory } from '../shared/experiments/rowMemory.ts';
import { rowSlots } from '../shared/experiments/rowSlots.ts';
import type { RunLedger } from '../shared/experiments/runLedger.ts';
import { type AttemptLog, type ChunkProgress, type RowRunner, runRows } from '../shared/experiments/runRows.ts';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';
import { mayPass, untilStored } from '../shared/experiments/untilStored.ts';
import {
  type Chunk,
  type ChunkOutcome,
  type HandOver,
  handOverSignal,
  type ProgressReport,
  progressSignal,
  type RunPlan,
  type RunSummary,
} from '../shared/experiments/workflow.ts';
import { asksJudges, type EnabledMetric } from '../shared/scorers/resolveMetrics.ts';
import { activityLease } from './activityLease.ts';
import { currentRun } from './currentRun.ts';
import { mustGiveUp } from './giveUp.ts';

export interface ActivityDeps {
  ledger: RunLedger;
  workflows: RunWorkflows;
  /** Shares the run's slots between processes. */
  coordination: Pick<Coordination, 'concurrency'>;
  rows: RunRowReader;
  rowLog: RowLog;
  attempts: AttemptLog;
  offered: OfferedRows;
  notices: Notices;
  /** Makes the runner of an experiment. @throws ServiceError when its template, model or module cannot be had. */
  createRunner(run: ExperimentRun): Promise<RowRunner>;
  rowMemory: RowMemory;
  /** The metrics that the run's settings name, frozen at the first call of its workflow. */
  freezeMetrics(run: ExperimentRun): Promise<EnabledMetric[]>;
  /** The rows that the run was asked to run again, frozen at the first call of its workflow. */
  freezeRerun(run: ExperimentRun): Promise<void>;
  /** Says how many rows of a part of the run this worker has in its hands. */
  publishRunning(run: ExperimentRun, part: string, rowsRunning: number): void;
  /** Counts the rows that are recorded so far. */
  countRows(run: ExperimentRun): Promise<RunSummary>;
  /** Removes what a crash may have left beside the recorded traces, computes the aggregates. */
  settleRecords(run: ExperimentRun): Promise<unknown>;
  log: Logger;
}

interface ExperimentRef {
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
/** Milliseconds in which a chunk must be known to be this worker's still when its rest is handed over. */
const HAND_OVER_MS = 4_000;
/** Milliseconds between two looks at the run's settings, which may be changed while it goes on. */
const SETTINGS_MS = 1_000;
/** Rows of a pass of scores beside the rows: a large run's history has room for that many, and a small run's figures are to grow as well. */
const rowsPerPass = (rowCount: number): number => Math.min(250, Math.max(1, Math.ceil(rowCount / 20)));
/** Chunks for each worker: enough that one which got fewer rows of work takes a share of what is left. */
const CHUNKS_PER_WORKER = 2;

/**
 * Creates the activities of the workflows. Each is a thin shell over the domain and safe to run twice.
 * Histories have the names of these methods, their inputs and their answers: see docs/deploys.md.
 * @param ending aborts when the worker ends. Its activities are cancelled then; one that its workflow has already cancelled gets no second signal
 */
export function createActivities(deps: ActivityDeps, ending: AbortSignal) {
  const findRun = async (ref: ExperimentRef): Promise<ExperimentRun> => {
    const run = await currentRun(deps, ref);
    if ('none' in run) throw ended(run.none);
    return run;
  };

  /** Rows of a chunk that was handed over before its worker died belong to other chunks. */
  const stillGiven = async (run: ExperimentRun, chunk: Chunk, context: Context): Promise<Chunk> => {
    // A reset gives a chunk that was under way out again, as it was at first.
    const isFirst = context.info.attempt === 1 && context.info.workflowExecution?.runId === chunk.runId;
    if (isFirst) return chunk;
    const workflow = await deps.workflows.progress(run);
    const to = workflow?.chunks.find((one) => one.chunk === chunk.chunk)?.to;
    return to === undefined ? chunk : { ...chunk, to };
  };

  /** How many chunks the rows of a run are spread over, so that every worker has some; one where that is not known. */
  const chunksAtOnce = async (run: ExperimentRun): Promise<number> => {
    if (run.runner.kind === 'caller_function') return 1;
    const workers = await deps.workflows.rowWorkers().catch(() => 1);
    return workers > 1 ? CHUNKS_PER_WORKER * workers : 1;
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
    planExperiment: (ref: ExperimentRef): Promise<RunPlan> =>
      beating(async () => {
        const run = await findRun(ref);
        await deps.ledger.setState(run.experimentId, ['requested'], 'running');
        const metrics = computedMetrics(run, await deps.freezeMetrics(run));
        await deps.freezeRerun(run);
        return {
          experimentName: run.name,
          projectName: run.projectName,
          groupName: run.groupName,
          runnerKind: run.runner.kind,
          rowCount: run.rowCount,
          concurrency: run.settings.concurrency,
          runsRows: runsRows(run),
          metrics: metrics.map((metric) => metric.name),
          scoresAlong: metrics.length > 0 && !metrics.some(asksJudges),
          ...(!metrics.every(asksJudges) ? { codeAlong: rowsPerPass(run.rowCount) } : {}),
          chunksAtOnce: await chunksAtOnce(run),
        };
      }),

    /** Runs the rows of a chunk that are not recorded yet. Ids are a pure function of (experiment, row, trial), so a second run finds the first one's rows. */
    runRows: (given: Chunk): Promise<ChunkOutcome> =>
      guarded(async () => {
        const run = await findRun(given);
        const context = Context.current();
        const chunk = await stillGiven(run, given, context);
        const attempt = attemptNumber(run.workflowNumber, chunk.round, context.info.attempt);
        const part = `${chunk.from}-${given.to}`;
        const lease = activityLease(context, deps);
        const stopping = AbortSignal.any([context.cancellationSignal, lease.lost]);
        const slots = rowSlots(deps.coordination.concurrency, run.experimentId, run.settings.concurrency);
        let running = 0;
        let publishedAt = 0;
        let lookedAt = Date.now();
        const publish = () => {
          publishedAt = Date.now();
          deps.publishRunning(run, part, running);
        };
        const heedSettings = () => {
          if (Date.now() - lookedAt < SETTINGS_MS) return;
          lookedAt = Date.now();
          deps.ledger
            .find(run.experimentId)
            .then((found) => found && slots.setLimit(found.settings.concurrency))
            .catch((err: unknown) => deps.log.debug({ err, experimentId: run.experimentId }, 'settings were not read'));
        };
        const report = async (): Promise<ProgressReport> => {
          const { rows, failedRows, costUsd } = await deps.countRows(run);
          return { rowsDone: rows, rowsFailed: failedRows, costUsd };
        };
        const reports = reportTo(run, chunk.startedAt, report, () => {
          publish();
          heedSettings();
        });
        const onProgress = (progress: ChunkProgress) => {
          // A caller leases more rows than it runs, so that it never waits for the next.
          running = Math.min(progress.running, slots.limit);
          if (Date.now() - publishedAt >= PUBLISH_MS) publish();
        };
        const handOver = async (to: number) => {
          const { chunk: number, token } = chunk;
          // One that the server has given up has a successor that runs all of these rows: handed over, they would be run twice.
          if (context.cancellationDetails?.notFound) return;
          const isMine = await lease.confirm(AbortSignal.any([lease.lost, AbortSignal.timeout(HAND_OVER_MS)])).then(
            () => true,
            () => false,
          );
          if (!isMine) return;
          // Where it is not heard, the rows are free when this chunk has ended.
          await deps.workflows
            .signal(run, handOverSignal, { chunk: number, to, token } satisfies HandOver)
            .catch((err: unknown) => deps.log.debug({ err, experimentId: run.experimentId }, 'rows were not handed over'));
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
                isGone: () => context.cancellationDetails?.notFound ?? false,
              },
              run,
              chunk,
              attempt,
              context.cancellationSignal,
            );
          }
          const runner = await deps.createRunner(run);
          try {
            const around = {
              rows: deps.rows,
              log: deps.rowLog,
              attempts: deps.attempts,
              runner,
              memory: deps.rowMemory,
              // While the shared slots cannot be had the rows wait: what is under way goes on, and no row starts over.
              takeSlot: (signal: AbortSignal) => stored(() => slots.take(signal), signal),
              lanes: () => slots.limit,
              confirm: () => lease.confirm(stopping),
              handOver,
              onLate: ({ ordinal }: ExperimentRow, workedMs: number) =>
                deps.log.warn({ experimentId: run.experimentId, ordinal, workedMs }, 'a row did not end by its time limit'),
              untilStored: stored,
              onProgress,
            };
            return await runRows(around, run, chunk, attempt, stopping, async () =>
              lease.lost.aborted ? 0 : mustGiveUp(deps, run, context, ending),
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

    /** Aggregates and the final state, in this order: progress is complete only when the aggregates are there. */
    finishExperiment: (ref: ExperimentRef): Promise<RunSummary> =>
      beating(async () => {
        if (Context.current().info.attempt > 1) {
          // It may have ended the run before its answer was lost.
          const run = await deps.ledger.find(ref.experimentId);
          if (run && (run.workflowNumber !== ref.number || run.state === 'completed')) return deps.countRows(run);
        }
        const run = await findRun(ref);
        const [result, summary] = await Promise.all([settled(run, true), deps.countRows(run)]);
        await deps.ledger.end(ref.experimentId, ref.number, 'completed', result);
        deps.notices.notify(ref.experimentId);
        return summary;
      }),

    /** Ends a run that was cancelled or cannot go on; what is recorded stays and is aggregated. */
    endExperiment: (ref: ExperimentRef, state: 'failed' | 'cancelled', error: string | null): Promise<RunSummary | undefined> =>
      beating(async () => {
        const run = await deps.ledger.find(ref.experimentId);
        if (!run || run.workflowNumber !== ref.number) return undefined;
        const { aggregates, error: missing } = await settled(run, false);
        const reasons = [error, missing].filter((reason) => reason !== null);
        // Postgres holds no NUL, and what a row or a model said may be part of the reason.
        const reason = reasons.length === 0 ? null : reasons.join('; ').replaceAll('\u0000', '');
        await deps.ledger.end(ref.experimentId, ref.number, state, { error: reason, aggregates });
        deps.notices.notify(ref.experimentId);
        return deps.countRows(run).catch(() => undefined); // for show alone: a run must end
      }),

    /** @param reason why the run pauses, where it does so by itself */
    markPaused: (ref: ExperimentRef, paused: boolean, reason: string | null = null): Promise<void> =>
      beating(async () => {
        await deps.ledger.setState(
          ref.experimentId,
          paused ? ['running', 'requested', 'paused'] : ['paused'],
          paused ? 'paused' : 'running',
          reason?.replaceAll('\u0000', '') ?? null,
        );
        deps.notices.notify(ref.experimentId);
      }),
  };

  /** Heartbeats while an activity works, and reports its progress to the workflow, so that Temporal's own pages show it. */
  function reportTo(run: ExperimentRun, startedAt: number, report: () => Promise<ProgressReport>, beat: () => void) {
    const context = Context.current();
    let reported = Date.now();
    const timer = setInterval(() => {
      context.heartbeat();
      beat();
      const now = Date.now();
      if (now - reported < Math.max(REPORT_MS, (now - startedAt) / 20)) return;
      reported = now;
      report()
        .then((progress) => deps.workflows.signal(run, progressSignal, progress))
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
    if (err instanceof RequestInvalid)
      throw ApplicationFailure.create({ message: err.message, type: err.name, nonRetryable: true, cause: err });
    throw err;
  }
}
