import type { ExperimentTrace } from '../records/ingest.ts';
import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import type { OrdinalRange } from './workflow.ts';

/** Reads the rows that a run executes, by ordinal. */
export interface RunRowReader {
  /** As the page of a source. */
  page(run: ExperimentRun, from: number, to: number): Promise<ExperimentRow[]>;
  /** Ids of the traces that [from, to) are recorded as, in order, all of them. */
  traceIds(run: ExperimentRun, from: number, to: number): Promise<string[]>;
  /** Returns the chosen rows in [from, to) of a run over chosen rows, in order; at least all among the first thousand. */
  chosen(run: ExperimentRun, from: number, to: number): Promise<OrdinalRange[]>;
}

/** How a recorded row stands. */
export interface RecordedRow {
  /** The beginning of its error; undefined where it succeeded. */
  error: string | undefined;
  /** The attempt that recorded it. */
  attempt: number;
  /** How often it was tried until then; null where that is not known. */
  attempts: number | null;
}

/** The record store, as the rows of an experiment use it. */
export interface RowLog {
  /** Returns the trace ids among these that are recorded. */
  recorded(run: ExperimentRun, traceIds: string[]): Promise<Map<string, RecordedRow>>;
  /** Resolves when the traces can be found and survive a crash. */
  write(run: ExperimentRun, traces: ExperimentTrace[], attempt: number): Promise<void>;
}

/**
 * Attempts per workflow and per round of its chunks: a later workflow's records always outrank an earlier one's, a later round's an earlier
 * round's, a retried chunk's those of the worker it lost. The store keeps 32 bits: some 4,000 workflows of one experiment.
 */
const ATTEMPTS_PER_WORKFLOW = 1_000_000;
const ATTEMPTS_PER_ROUND = 1_000;

export const attemptNumber = (workflow: number, round: number, attempt: number): number =>
  workflow * ATTEMPTS_PER_WORKFLOW +
  Math.min(round, ATTEMPTS_PER_WORKFLOW / ATTEMPTS_PER_ROUND - 1) * ATTEMPTS_PER_ROUND +
  Math.min(attempt, ATTEMPTS_PER_ROUND - 1);

/** The lowest attempt number of a workflow. */
export const firstAttemptOf = (workflow: number): number => attemptNumber(workflow, 0, 0);

/**
 * A row runs when it is not recorded; and again, where it was recorded in an earlier workflow and failed, when failed rows are run again. A run over
 * chosen rows runs each of those, and no other.
 */
export function mustRun(run: ExperimentRun, recorded: RecordedRow | undefined, isChosen: boolean): boolean {
  if (run.rowsToRun === 'chosen' && !isChosen) return false;
  if (!recorded) return true;
  if (recorded.attempt >= firstAttemptOf(run.workflowNumber)) return false;
  return run.rowsToRun === 'chosen' || (run.rowsToRun === 'failed' && recorded.error !== undefined);
}

export const isAmong = (ranges: readonly OrdinalRange[], ordinal: number): boolean =>
  ranges.some(({ from, to }) => from <= ordinal && ordinal < to);
