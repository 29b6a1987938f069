import type { ExperimentRun, RowsToRun, Runner, RunSettings, RunState } from './experiment.ts';

/** What a run is to do; absent parts keep what the experiment has. */
export interface RunDefinition {
  rowsToRun: RowsToRun;
  runner?: Runner;
  settings?: Partial<RunSettings>;
  /** Rows of the frozen set. */
  rowCount?: number;
  /** The process that hosts the runner function. */
  callerProcess?: string;
}

/** The states of experiment runs in the metadata store. */
export interface RunLedger {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  /** Without all that `find` reads: asked after every write. */
  exists(experimentId: string): Promise<boolean>;
  /**
   * Commits that a run is wanted and counts its workflow up, unless one is going on or was started since workflow `after`: of requests that come
   * at once, one starts the run, also when that run has ended before the last of them gets here. Answers the run as it stands, and whether this
   * request started it; undefined when there is no such experiment.
   */
  request(
    experimentId: string,
    after: number,
    definition: RunDefinition,
  ): Promise<{ run: ExperimentRun; started: boolean } | undefined>;
  /** False when the state was none of `from`. */
  setState(experimentId: string, from: RunState[], to: RunState): Promise<boolean>;
  setSettings(experimentId: string, settings: Partial<RunSettings>): Promise<void>;
  /** Ends workflow `number` of the experiment; a newer one is left alone. */
  end(
    experimentId: string,
    number: number,
    state: 'completed' | 'failed' | 'cancelled',
    result: { error: string | null; aggregates?: unknown },
  ): Promise<void>;
  /** Replaces the aggregates of a run that has ended. */
  setAggregates(experimentId: string, aggregates: unknown): Promise<void>;
  times(experimentId: string): Promise<{ startedAt: Date | null; endedAt: Date | null; error: string | null }>;
  /** Runs that are requested, running or paused: each must have a workflow. */
  unended(): Promise<ExperimentRun[]>;
}
