/** Names and message types that the starter of a run and the workflow share, so that neither imports the other. */
export const RUN_EXPERIMENT = 'runExperiment';

export interface RunExperimentInput {
  experimentId: string;
  projectId: string;
  /** Counted in Postgres; part of the workflow id. */
  number: number;
  /** What a former execution of the same workflow has settled; absent in the first. */
  carried?: Carried;
}

export interface Carried {
  plan: RunPlan;
  phase: 'rows' | 'scores';
  /** Rows or scores still to be done: ranges of ordinals, end excluded. */
  ranges: OrdinalRange[];
  rowsDone: number;
  scoresDone: number;
  paused: boolean;
  concurrency: number;
  round: number;
  /** Rows that were not scored beside the rows; absent where they are not. */
  unscored?: OrdinalRange[];
}

export interface OrdinalRange {
  from: number;
  to: number;
}

/** What the planning step froze. Counts and names only: no row, prompt or answer ever enters a history. */
export interface RunPlan {
  experimentName: string;
  projectName: string;
  groupName: string;
  runnerKind: string;
  rowCount: number;
  concurrency: number;
  /** False when only scores are computed. */
  runsRows: boolean;
  /** Names of the metrics to compute. */
  metrics: string[];
  /** True when recorded rows are scored while others still run; absent in plans of former versions. */
  scoresAlong?: boolean;
}

export const workflowIdOf = (experimentId: string, number: number): string => `experiment/${experimentId}/${number}`;

export const pauseSignal = 'pause';
export const resumeSignal = 'resume';
export const cancelSignal = 'cancelRun';
export const concurrencySignal = 'setConcurrency';
export const progressSignal = 'progress';
export const callerSignal = 'callerBack';
export const progressQuery = 'progress';

export interface ProgressReport {
  rowsDone?: number;
  scoresDone?: number;
  /** Rows that are recorded, all of this range. */
  recorded?: OrdinalRange;
}

export interface WorkflowProgress {
  phase: 'planning' | 'rows' | 'scores' | 'finishing' | 'ended';
  rowsDone: number;
  rowsTotal: number;
  scoresDone: number;
  paused: boolean;
  cancelled: boolean;
  /** True while no caller's process is there to run the rows. */
  awaitsCaller: boolean;
}

/** One activity's share of the rows (or of the rows to score). */
export interface Chunk extends OrdinalRange {
  experimentId: string;
  projectId: string;
  number: number;
  lanes: number;
  /** Counts the times that the workflow has given out chunks. */
  round: number;
}

export interface ChunkOutcome {
  /** Every row of the chunk below this ordinal has ended and is recorded. */
  takenTo: number;
  /** Rows that this activity recorded, failed ones included. */
  recorded: number;
  /** No caller process was there to run the rows; the workflow waits for one. */
  callerGone?: boolean;
  /** Too many rows failed one after another; the workflow pauses. */
  failing?: string;
}
