import type { SearchAttribute } from '../experiments/workflow.ts';

/**
 * Names and message types that the starter of a scoring and its workflow share, so that neither imports the other.
 * They are in histories and on servers: a name that was released stays, and a key that is added is optional (docs/deploys.md).
 */
export const SCORE_RUN = 'scoreRun';
export const moreSignal = 'more';

export interface ScoreRunInput {
  projectId: string;
  runId: string;
  runName: string;
  projectName: string;
  /** True when the run is an experiment, whose scores do not wait for those of log streams; absent in workflows of former releases. */
  ofExperiment?: boolean;
  /** Values computed by former executions of the same workflow; absent in the first. */
  scored?: number;
  /** Search attributes that the namespace has. Absent: the four keywords of the first release. */
  searchAttributes?: SearchAttribute[];
}

export interface ScoreRunProgress {
  scored: number;
  /** True while values are being computed; otherwise it waits for more. */
  busy: boolean;
}

/** The result of marking. `oldest` is the time of the oldest record that was marked, null when none was. */
export interface Prepared {
  oldest: string | null;
  /** True when it was cancelled before all was looked at; absent in histories of former releases. */
  more?: boolean;
  /** Values that were computed at once, as plain code gives them; absent in histories of former versions. */
  scored?: number;
  /** Milliseconds until a session of the run has been idle for long enough to be scored; absent where none is waited for. */
  sessionsDueMs?: number;
}

/** Part of a pass over the marked values. */
export interface ScorePass {
  projectId: string;
  runId: string;
  /** Values of older records are known to be computed; absent: nothing is known. */
  from?: string;
  /** Number of the experiment's workflow that asks: it gets nothing once its run has ended or has a newer workflow. Absent: no experiment's does. */
  number?: number;
  /** True when all rows of the experiment are recorded: then the workflow looks at every row, not only at those recorded since its last look. */
  ended?: boolean;
}

/** The result of one activity that computes marked values. */
export interface ScoredOutcome {
  scored: number;
  /** False when everything that was marked at its start is computed. */
  more: boolean;
  /** Why the run is to pause. */
  failing?: string;
  /** True when nothing was done because a run of the experiment goes on, whose end is to be waited for. */
  isTaken?: boolean;
}

export const scoringWorkflowId = (runId: string): string => `scoring/${runId}`;
