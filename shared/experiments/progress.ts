import type { ProgressBoard, RunWait, RunWaits } from '../coordination/coordination.ts';
import { ServiceError } from '../errors/errors.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import type { Notices } from './callerRows.ts';
import { type ExperimentRun, hasEnded, type RunState } from './experiment.ts';
import type { Experiment, ExperimentStore } from './experimentStore.ts';
import type { ProgressOf } from './response.ts';
import type { RunTimes } from './runLedger.ts';
import type { RunUsage } from './runUsage.ts';

/** How far a run is. Rows and scores are counted in the record store; what is in flight comes from the workers. */
export interface RunProgressView {
  experimentId: string;
  state: RunState;
  rowsTotal: number;
  rowsDone: number;
  rowsFailed: number;
  /** Rows in flight: no more than the concurrency, and 0 only where all that was begun is recorded. */
  rowsRunning: number;
  scoresTotal: number;
  scoresDone: number;
  usage: RunUsage;
  /** Recorded rows per second since the run started; null before the first. */
  rowsPerSecond: number | null;
  startedAt: string | null;
  endedAt: string | null;
  error: string | null;
  /** Why the run does not get on. */
  message: string | null;
}

export interface RunProgressReport extends RunProgressView {
  /** Settings that were asked for and that its model is not sent. */
  settingsNotSent: string[];
}

/** Counts that the record store has of a run. */
export interface RunTally {
  rows: number;
  failed: number;
  /** Values of the given metrics, whatever came of them; not those that are still to be computed. */
  scores: number;
  usage: RunUsage;
}

export interface ProgressDeps {
  /** @param isAtRest whether none of its rows was running a moment ago: what was counted before that does not do */
  tally(run: Pick<ExperimentRun, 'projectId' | 'experimentId'>, metrics: string[], isAtRest: boolean): Promise<RunTally>;
  metricNames(run: ExperimentRun): Promise<string[]>;
  /** The rows that the workers of hosted runners have in flight. */
  board: ProgressBoard;
  /** Rows that the caller's process has leased: they stay with it when their chunk ends, as in a pause. */
  leased(experimentId: string): Promise<number>;
  times(experimentId: string): Promise<RunTimes>;
}

export interface ReportDeps extends ProgressDeps {
  waits: Pick<RunWaits, 'of'>;
  models: Pick<ModelCaller, 'unsentSettings'>;
}

/** Milliseconds between two looks of a caller that waits for a run's end, should the notice get lost. */
const LOOK_MS = 1_000;

/** The run as it stands when it has ended, after `waitMs`, or when the caller hangs up. @throws ServiceError `NotFound` when it is deleted meanwhile. */
export async function untilEnded(
  deps: { find(experimentId: string): Promise<ExperimentRun | undefined>; notices: Notices },
  run: ExperimentRun,
  waitMs: number,
  signal: AbortSignal,
): Promise<ExperimentRun> {
  const until = Date.now() + waitMs;
  for (let now = run; ; ) {
    const left = until - Date.now();
    if (hasEnded(now.state) || left <= 0 || signal.aborted) return now;
    await deps.notices.wait(run.experimentId, Math.min(LOOK_MS, left), signal);
    const found = await deps.find(run.experimentId);
    if (!found) throw new ServiceError('NotFound', `experiment ${run.experimentId} was deleted`);
    now = found;
  }
}

export async function runProgress(deps: ProgressDeps, run: ExperimentRun): Promise<RunProgressView> {
  const [metrics, rowsRunning, times] = await Promise.all([
    deps.metricNames(run),
    run.runner.kind === 'caller_function' ? deps.leased(run.experimentId) : deps.board.rowsRunning(run.experimentId),
    deps.times(run.experimentId),
  ]);
  const tally = await deps.tally(run, metrics, rowsRunning === 0);
  const ended = hasEnded(run.state);
  const seconds = times.startedAt ? ((times.endedAt ?? new Date()).getTime() - times.startedAt.getTime()) / 1_000 : 0;
  return {
    experimentId: run.experimentId,
    state: run.state,
    rowsTotal: Math.max(run.rowCount, tally.rows),
    rowsDone: tally.rows,
    rowsFailed: tally.failed,
    // Chunks say theirs at different times, what a dead worker said last holds for a while, and a caller leases some rows ahead.
    rowsRunning: ended ? 0 : Math.min(rowsRunning, run.settings.concurrency),
    scoresTotal: run.rowCount * metrics.length,
    scoresDone: tally.scores,
    usage: tally.usage,
    rowsPerSecond: seconds > 0 && tally.rows > 0 ? tally.rows / seconds : null,
    startedAt: times.startedAt?.toISOString() ?? null,
    endedAt: ended ? (times.endedAt?.toISOString() ?? null) : null,
    error: times.error,
    message: times.message,
  };
}

/** How far a run is, with what its calls wait for and what they leave out. */
export async function reportProgress(deps: ReportDeps, run: ExperimentRun): Promise<RunProgressReport> {
  const [view, wait, settingsNotSent] = await Promise.all([
    runProgress(deps, run),
    run.state === 'running' ? deps.waits.of(run.experimentId) : undefined,
    run.runner.kind === 'prompt_template' ? deps.models.unsentSettings(run.runner.settings, run.createdBy) : [],
  ]);
  return { ...view, message: view.message ?? (wait ? waitText(wait) : null), settingsNotSent };
}

const waitText = ({ reason, until }: RunWait): string =>
  `${reason}; calls wait until ${new Date(until).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

export interface FractionDeps {
  metricIds: ExperimentStore['metricIds'];
  /** Rows of each of these runs, and their values of the metrics with these ids; a run without any is absent. */
  tallies(
    runs: readonly Pick<Experiment, 'id' | 'projectId'>[],
    metricIds: readonly string[],
  ): Promise<ReadonlyMap<string, Pick<RunTally, 'rows' | 'scores'>>>;
}

/** How far each experiment is. Those that have ended cost nothing, all others together one read of each store. */
export function progressFractions({ metricIds, tallies }: FractionDeps): ProgressOf {
  return async (experiments) => {
    const open = experiments.filter(({ state }) => !hasEnded(state));
    const started = open.filter(({ state }) => state !== 'idle').map(({ id }) => id);
    const metrics = started.length > 0 ? await metricIds(started) : new Map<string, string[]>();
    const counted = open.length > 0 ? await tallies(open, [...new Set([...metrics.values()].flat())]) : new Map<string, never>();
    return new Map(
      experiments.map((experiment) => {
        const tally = counted.get(experiment.id) ?? { rows: 0, scores: 0 };
        return [experiment.id, progressFraction(experiment, tally, metrics.get(experiment.id)?.length ?? 0)];
      }),
    );
  };
}

/**
 * The fraction that clients poll: 1 only when the run has ended and its aggregates are stored. An experiment without a run of its own is fed by
 * plain ingest: the share of its dataset's rows with a record is its progress.
 */
function progressFraction(
  experiment: Pick<Experiment, 'state' | 'rowCount' | 'datasetRowCount'>,
  tally: Pick<RunTally, 'rows' | 'scores'>,
  metrics: number,
): number {
  if (hasEnded(experiment.state)) return 1;
  const rowCount = experiment.rowCount ?? experiment.datasetRowCount ?? 0;
  if (experiment.state === 'idle') return rowCount > 0 ? Math.min(1, tally.rows / rowCount) : tally.rows > 0 ? 1 : 0;
  const steps = rowCount * (1 + metrics);
  return steps === 0 ? 0 : Math.min(0.99, (tally.rows + tally.scores) / steps);
}
