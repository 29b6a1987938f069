/**
 * Names and message types that the starter of a run and the workflow share, so that neither imports the other.
 * They are in histories and on servers: a name that was released stays, and a key that is added is optional (docs/deploys.md).
 */
export const RUN_EXPERIMENT = 'runExperiment';

export interface RunExperimentInput {
  experimentId: string;
  projectId: string;
  /** Counted in Postgres; part of the workflow id. */
  number: number;
  /** State that a former execution of the same workflow leaves; absent in the first. */
  carried?: Carried;
  /** Search attributes that the namespace has; a workflow that sets another is refused at every step. Absent: the four keywords of the first release. */
  searchAttributes?: SearchAttribute[];
}

/** Search attributes of runs in Temporal's own pages, with the type that Temporal gives each. */
export const searchAttributes = {
  AssayProject: 'Keyword',
  AssayExperiment: 'Keyword',
  AssayGroup: 'Keyword',
  AssayStatus: 'Keyword',
  AssayRows: 'Int',
  AssayFailedRows: 'Int',
  AssayCost: 'Double',
} as const;
export type SearchAttribute = keyof typeof searchAttributes;

export interface Carried {
  plan: RunPlan;
  /** Workers of the former release read it: without it they would run no row. */
  phase: 'rows' | 'scores';
  /** Rows still to be done: ranges of ordinals, end excluded. */
  ranges: OrdinalRange[];
  rowsDone: number;
  scoresDone: number;
  paused: boolean;
  concurrency: number;
  round: number;
  /** Why the run pauses, where it does so by itself. */
  pauseReason?: string | null;
  /** Chunks that were given out. */
  chunks?: number;
  /** When the run was planned, in milliseconds since 1970. */
  startedAt?: number;
}

export interface OrdinalRange {
  from: number;
  to: number;
}

/** The plan that the first step froze. It holds counts and names only: no row, prompt or answer ever enters a history. */
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
  /** True when all metrics are plain code: a pass that marks nothing for judges is the whole of it. Absent in plans of former versions. */
  scoresAlong?: boolean;
  /**
   * Newly recorded rows that are worth a pass over the metrics of plain code while others still run; judges wait for all rows. Absent where no metric is
   * plain code, and in plans of former versions.
   */
  codeAlong?: number;
  /** Chunks at a time, so that all workers have a share; absent: one. */
  chunksAtOnce?: number;
}

export const pauseSignal = 'pause';
export const resumeSignal = 'resume';
export const concurrencySignal = 'setConcurrency';
export const progressSignal = 'progress';
export const callerSignal = 'callerBack';
export const handOverSignal = 'handedOver';
export const progressQuery = 'progress';

export interface ProgressReport {
  rowsDone: number;
  rowsFailed: number;
  costUsd: number;
}

/** A chunk takes no further row while rows of it are still in flight: its rows from `to` on are free for another chunk. */
export interface HandOver {
  chunk: number;
  to: number;
  /** That of the chunk: a reset repeats signals that were meant for chunks of the execution that it ended. */
  token: string;
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
  /** True when the run cannot go on, and waits for what is under way. */
  fails?: boolean;
  /** Chunks that are given out, each with where it ends now. */
  chunks: { chunk: number; to: number }[];
}

/** One activity's share of the rows. */
export interface Chunk extends OrdinalRange {
  experimentId: string;
  projectId: string;
  number: number;
  /** Rows in flight that the run may have when the chunk is given out; the run's settings say how many it may have now. */
  lanes: number;
  /** Rises when rows are given out again, so that what a later chunk records outranks what is left of an earlier one. */
  round: number;
  /** Number of the chunk within its workflow. */
  chunk: number;
  /** Differs from that of every other chunk, also of one with the same number after a reset. */
  token: string;
  /** Execution of the workflow that gave it out. */
  runId: string;
  /** When the run was planned, in milliseconds since 1970; the reports of a long run come less often. */
  startedAt: number;
}

/** The counts of a run, as its last step sums it up. */
export interface RunSummary {
  rows: number;
  failedRows: number;
  costUsd: number;
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
