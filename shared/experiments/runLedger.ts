import type { RowSelection, SelectedRows } from '../datasets/rowSelection.ts';
import type { ScorerConfig, SegmentFilter } from '../wire/scorers.ts';
import type { ExperimentRun, FigureSettings, Rerun, RowsToRun, Runner, RunSettings, RunState } from './experiment.ts';
import type { DatasetVersionRef } from './experimentStore.ts';
import type { OrdinalRange } from './workflow.ts';

/** The parts of an experiment's definition that a start changes. */
export interface DefinitionChange {
  taskType?: 16 | 17 | undefined;
  dataset?: DatasetVersionRef | undefined;
  promptTemplateVersionId?: string | undefined;
  promptSettings?: Record<string, unknown> | undefined;
  /** The metrics to compute. */
  scorers?: readonly ScorerConfig[] | undefined;
  segmentFilters?: readonly SegmentFilter[] | undefined;
}

/** The definition of a run. Absent parts keep what the experiment has. */
export interface RunDefinition extends FigureSettings {
  rowsToRun: RowsToRun;
  /** Stored with the start, so that no other request comes between. */
  change?: DefinitionChange;
  rerun?: Rerun;
  /** The executions to run, where `rowsToRun` is `chosen` and they are known already. */
  chosen?: readonly OrdinalRange[];
  runner?: Runner;
  settings?: Partial<RunSettings>;
  /** Rows of the frozen set times trials. */
  rowCount?: number;
  selectedRows?: SelectedRows;
  trials?: number;
  /** The process that hosts the runner function. */
  callerProcess?: string;
}

export interface RunTimes {
  startedAt: Date | null;
  endedAt: Date | null;
  /** Why a run failed or was cancelled. */
  error: string | null;
  /** Why it does not get on: it pauses by itself, or the tasks of its workflow fail. */
  message: string | null;
}

/** The states of experiment runs in the metadata store. */
export interface RunLedger {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  /** The rows that the creation of an experiment asks for. */
  wantedRows(experimentId: string): Promise<RowSelection | undefined>;
  /** Without all that `find` reads: asked after every write. */
  exists(experimentId: string): Promise<boolean>;
  /** Returns whether workflow `number` of the experiment goes on; asked before every write of rows. */
  goesOn(experimentId: string, number: number): Promise<boolean>;
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
  /** Freezes which executions workflow `number` of the experiment runs, unless they are frozen; a newer workflow is left alone. */
  freezeChosen(experimentId: string, number: number, chosen: readonly OrdinalRange[]): Promise<void>;
  /** Returns what of [from, to) the newest workflow was asked to run, in order, from the lowest on: at most `MAX_CHOSEN_READ` ranges. */
  chosenIn(experimentId: string, from: number, to: number): Promise<OrdinalRange[]>;
  /** False when the state was none of `from`. @param pauseReason why a run pauses that does so by itself; any other state clears it */
  setState(experimentId: string, from: RunState[], to: RunState, pauseReason?: string | null): Promise<boolean>;
  /** Makes a run that has ended go on, because its workflow was reset; a newer one is left alone. */
  reopen(experimentId: string, number: number): Promise<void>;
  /** Why the tasks of the run's workflow fail again and again; null when they do not. */
  setWorkflowProblem(experimentId: string, problem: string | null): Promise<void>;
  /** Also while a run goes on. The aggregates are noted as outdated by it. */
  setFigureSettings(experimentId: string, change: FigureSettings): Promise<void>;
  setSettings(experimentId: string, settings: Partial<RunSettings>): Promise<void>;
  /** Ends workflow `number` of the experiment; a newer one is left alone. */
  end(
    experimentId: string,
    number: number,
    state: 'completed' | 'failed' | 'cancelled',
    result: { error: string | null; aggregates?: unknown },
  ): Promise<void>;
  /** Replaces the aggregates of an experiment of which no run goes on. */
  setAggregates(experimentId: string, aggregates: unknown): Promise<void>;
  times(experimentId: string): Promise<RunTimes>;
  /** Runs that are requested, running or paused: each must have a workflow. */
  unended(): Promise<ExperimentRun[]>;
}
