import type { CallLimits } from '../coordination/coordination.ts';
import type { SourceRow } from '../datasets/experimentRow.ts';
import type { RowsOfRun } from '../datasets/rowsOfRun.ts';
import { derivedId } from '../identifiers/ids.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { MetricScale } from '../wire/metricScale.ts';

/** Scales of the metrics that clients log themselves, by name. */
export type LoggedMetrics = Readonly<Record<string, MetricScale>>;

/** Settings of an experiment's figures. An absent part keeps what the experiment has. */
export interface FigureSettings {
  failedRows?: FailedRows;
  /** Replaces what was said of the metrics named here. */
  loggedMetrics?: LoggedMetrics;
}

/** The runner of rows. `dataset_outputs` runs nothing: it scores the outputs that the dataset already holds. */
export type Runner =
  | { kind: 'prompt_template'; templateVersionId: string; settings: Record<string, unknown> }
  | { kind: 'dataset_outputs' }
  | { kind: 'caller_function' }
  | { kind: 'module'; name: string }
  /** Values of the headers are sealed as soon as the run is requested. */
  | { kind: 'http'; url: string; headers?: Record<string, string> };

/** How a run goes about its rows; data on the experiment, so that a change needs no deploy. */
export interface RunSettings {
  /** Rows in flight at any time, over the whole run. */
  concurrency: number;
  /** Milliseconds after which a row's calls, all tries together, are given up and the row recorded as failed. Waiting does not count. */
  rowTimeLimitMs: number;
  /** Attempts of a model or HTTP call that fails in a way that may pass. */
  maxCallAttempts: number;
  /** Consecutive failed rows after which the run pauses by itself; 0 never does. */
  pauseAfterFailures: number;
  /** Consecutive rows that failed because their provider is down or refuses, after which the run pauses by itself; 0 never does. */
  pauseAfterProviderFailures: number;
  /** Limits of the run's calls; they replace those of the integration. */
  limits?: Partial<CallLimits>;
}

export const defaultRunSettings: RunSettings = {
  concurrency: 20,
  rowTimeLimitMs: 600_000,
  maxCallAttempts: 6,
  pauseAfterFailures: 0,
  pauseAfterProviderFailures: 20,
};

export const runStates = ['idle', 'requested', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;
export type RunState = (typeof runStates)[number];

export const hasEnded = (state: RunState): boolean => state === 'completed' || state === 'failed' || state === 'cancelled';

/** Returns whether a workflow of the experiment goes on, or is about to. */
export const isUnderWay = (state: RunState): boolean => state !== 'idle' && !hasEnded(state);

/**
 * The rows that a workflow runs: those not recorded yet; those and what was recorded as failed before it started; none (scores only); the chosen ones
 * alone, once more; or none, and the scores of one metric alone.
 */
export const rowsToRun = ['missing', 'failed', 'none', 'chosen', 'scores'] as const;
export type RowsToRun = (typeof rowsToRun)[number];

export const runsRows = (run: { rowsToRun: RowsToRun }): boolean => run.rowsToRun !== 'none' && run.rowsToRun !== 'scores';

/** Why a row has no value of a metric that counts: there is none, it failed, or it is older than its row or than what is to make it. */
export const valueStates = ['missing', 'failed', 'stale'] as const;
export type ValueState = (typeof valueStates)[number];

/** The rows that a workflow runs again, where it was asked for certain rows or for those of a metric. */
export interface Rerun {
  /** Equal where a repeated request asks for the same. */
  digest: string;
  /** Rows whose values of this metric are in one of these states. */
  of?: { metric: string; states: readonly ValueState[] };
  /** How many executions were chosen; absent until they are frozen. */
  executions?: number;
}

/** An experiment as the run of its rows needs it. */
export interface ExperimentRun extends RowsOfRun {
  projectId: string;
  name: string;
  projectName: string;
  groupName: string;
  createdBy: string;
  datasetName: string | null;
  runner: Runner;
  settings: RunSettings;
  /** Scales of the metrics that clients log. */
  loggedMetrics: LoggedMetrics;
  failedRows: FailedRows;
  state: RunState;
  workflowNumber: number;
  /** The first workflow whose rows may have scores of former outputs: since it began, no run has ended that would have computed them. */
  scoresLeftFrom: number;
  /** Empty before the first run. */
  workflowId: string;
  /** Why the tasks of its workflow fail again and again. */
  workflowProblem: string | null;
  rowsToRun: RowsToRun;
  rerun: Rerun | null;
}

/** A row as a run executes it: once for each trial. */
export interface ExperimentRow extends Omit<SourceRow, 'ordinal'> {
  /** Position in the run: the rows of the first trial, then those of the second, and so on. */
  ordinal: number;
  /** Position in the dataset version, or the list of records. */
  sourceOrdinal: number;
  /** From 0. */
  trial: number;
}

/** Id of the job that is a run's, or of the one that is its metric's. It follows from the run, so that all callers get the same one. */
export const jobIdOf = (run: Pick<ExperimentRun, 'experimentId' | 'workflowNumber'>, scorerId?: string): string =>
  derivedId('job', run.experimentId, String(run.workflowNumber), ...(scorerId === undefined ? [] : [scorerId]));
