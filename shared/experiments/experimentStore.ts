import type { Page, PageOf } from '../accounts/accountStore.ts';
import type { RowSelection, SelectedRows } from '../datasets/rowSelection.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { UserInfo } from '../wire/datasets.ts';
import type { GateStatus } from '../wire/experimentGate.ts';
import type { ExperimentFilter, ExperimentFilterTree, ExperimentSort } from '../wire/experiments.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { ScorerConfig } from '../wire/scorers.ts';
import type { ExperimentAggregates } from './aggregates.ts';
import type { LoggedMetrics, RunState } from './experiment.ts';

export interface DatasetVersionRef {
  id: string;
  versionIndex: number;
  /** As it was when the experiment was made. */
  name: string | null;
}

/** An experiment as it is listed. */
export interface Experiment {
  id: string;
  projectId: string;
  name: string;
  /** The name without the time that clients put behind one that is taken: that of all runs of one name. */
  series: string;
  /** When and by whom it was approved as a baseline; null where it is not. */
  approval: { at: Date; by: string } | null;
  /** Result of its newest gate; null before the first. */
  gate: { status: GateStatus; at: Date } | null;
  taskType: 16 | 17;
  group: { id: string; name: string; isSystem: boolean };
  dataset: DatasetVersionRef | null;
  /** Rows of that version; null without a dataset, or when it is gone. */
  datasetRowCount: number | null;
  /** The template version; text and name are those of the template now. */
  prompt: {
    templateVersionId: string;
    templateId: string;
    version: number;
    name: string;
    content: string;
    settings: Record<string, unknown>;
  } | null;
  promptSettings: Record<string, unknown> | null;
  playgroundId: string | null;
  /** Scales of the metrics that clients log, by name. */
  loggedMetrics: LoggedMetrics;
  failedRows: FailedRows;
  state: RunState;
  workflowNumber: number;
  /** As its first start froze them; null: all rows, or it has not been started. */
  selectedRows: SelectedRows | null;
  trials: number;
  /** Rows times trials; null before the first run. */
  rowCount: number | null;
  error: string | null;
  aggregates: ExperimentAggregates | null;
  /** Among the experiments of its group; null where it has no score. */
  ranking: { score: number; rank: number; isWinner: boolean } | null;
  startedAt: Date | null;
  endedAt: Date | null;
  createdBy: UserInfo;
  createdAt: Date;
  updatedAt: Date;
  tags: RunTag[];
}

export interface ExperimentGroup {
  id: string;
  projectId: string;
  name: string;
  description: string | null;
  isSystem: boolean;
  createdBy: UserInfo | null;
  createdAt: Date;
  updatedAt: Date;
  experimentCount: number;
  /** When the newest of its experiments was made or last started. */
  latestRunDate: Date | null;
  datasets: { id: string; name: string }[];
}

export interface RunTag {
  id: string;
  projectId: string;
  runId: string;
  key: string;
  value: string;
  tagType: string;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The group that an experiment goes to. A named one is made when the project lacks it. */
export type GroupChoice = { id: string } | { name: string };

export interface NewExperiment {
  id: string;
  projectId: string;
  name: string;
  taskType: 16 | 17;
  createdBy: string;
  group: GroupChoice;
  dataset: DatasetVersionRef | null;
  promptTemplateVersionId: string | null;
  promptSettings: Record<string, unknown> | null;
  playgroundId: string | null;
  playgroundPromptId: string | null;
  /** The rows that a run is to be over; null: all. */
  rows: RowSelection | null;
  trials: number;
  /** The metrics to switch on; null leaves the run without settings. */
  scorers: ScorerConfig[] | null;
  loggedMetrics: LoggedMetrics;
  failedRows: FailedRows;
  creation: Creation | null;
}

/** By what a repeated creation is recognized. */
export interface Creation {
  key: string;
  requestHash: string;
}

export interface ExperimentQuery {
  filters: readonly ExperimentFilter[];
  /** Holds beside the filters. */
  filter_tree?: ExperimentFilterTree | null | undefined;
  /** Absent: newest first. */
  sort?: ExperimentSort | null | undefined;
}

/** A metric that an experiment has aggregates of. */
export interface AggregatedMetric {
  /** Its key in the aggregates. */
  metric: string;
  dataType: 'boolean' | 'floating_point' | 'text';
  /** The scale that the newest of the experiments states which states one. */
  scale: MetricScale;
}

/** The choice of a baseline among several experiments: the newest of all, of those that are approved, or of those that passed their gates or are approved. */
export type BaselinePick = 'newest' | 'approved' | 'passed';
export interface BaselineChoice {
  tag?: Pick<RunTag, 'key' | 'value'> | undefined;
  /** The name of a series, or the whole name of one run. */
  name?: string | undefined;
  pick: BaselinePick;
}

/** Where experiments, as resources, are kept; the states of their runs are the ledger's. */
export interface ExperimentStore {
  /**
   * Makes the run, the experiment, its group where that is missing, its scorer settings and the note of the creation in one transaction.
   * @returns the id of a group made on the way; undefined, and nothing made, when another creation has the key.
   * @throws ServiceError `ExperimentGroupNotFound`
   */
  insert(experiment: NewExperiment): Promise<{ newGroupId: string | undefined } | undefined>;
  /** The experiment that a creation with this key made. */
  created(projectId: string, createdBy: string, key: string): Promise<{ experimentId: string; requestHash: string } | undefined>;
  /** Takes back an experiment that never ran, and its group where that was made for it and is empty. */
  discard(experimentId: string, newGroupId: string | undefined): Promise<void>;
  find(projectId: string, experimentId: string): Promise<Experiment | undefined>;
  list(projectId: string, query: ExperimentQuery, page: Page): Promise<PageOf<Experiment>>;
  /** How many the filters find. */
  count(projectId: string, query: Pick<ExperimentQuery, 'filters' | 'filter_tree'>): Promise<number>;
  /** In the order of the ids; those that the project lacks are left out. */
  byIds(projectId: string, ids: readonly string[]): Promise<Experiment[]>;
  /** Newest first. */
  ids(projectId: string): Promise<string[]>;
  /**
   * Finds the experiment that ended last, among those whose run is completed, or whose rows clients have logged (as their aggregates or a gate say), and of which not all rows failed, `except`
   * aside: with the tag; or of the name, earlier ones before later ones and in the series of `except` earlier ones alone; or without both the earlier runs of that series.
   */
  lastFinished(projectId: string, choice: BaselineChoice, except: string): Promise<string | undefined>;
  /** @param by who approves; null takes the approval back. False where there is no such experiment. */
  approve(projectId: string, experimentId: string, by: string | null): Promise<boolean>;
  /** Notes what a gate came to. One that failed stays so until the run is started again: a looser gate does not make it a baseline. */
  noteGate(projectId: string, experimentId: string, status: GateStatus): Promise<void>;
  /** Ids of the metrics that are switched on for these experiments; none for one without settings. */
  metricIds(experimentIds: readonly string[]): Promise<ReadonlyMap<string, string[]>>;
  /** Returns what any experiment of the project has aggregates of, in order of the names. */
  aggregatedMetrics(projectId: string): Promise<AggregatedMetric[]>;
  /**
   * Undefined when there is no such experiment.
   * @throws ServiceError `ExperimentGroupNotFound`
   */
  update(
    projectId: string,
    experimentId: string,
    change: { name: string; taskType: 16 | 17 | undefined; group: GroupChoice | undefined; by: string },
  ): Promise<Experiment | undefined>;
  /** The prompt template of a version, and the settings of that version; undefined when there is none. */
  templateOfVersion(templateVersionId: string): Promise<{ id: string; settings: Record<string, unknown> } | undefined>;
}

export interface ExperimentGroupStore {
  /** Newest first. */
  list(projectId: string, page: Page): Promise<PageOf<ExperimentGroup>>;
}

export interface RunTagStore {
  list(runId: string): Promise<RunTag[]>;
  find(runId: string, tagId: string): Promise<RunTag | undefined>;
  /** Adds a tag, or changes the run's tag with this key. */
  put(tag: Pick<RunTag, 'id' | 'projectId' | 'runId' | 'key' | 'value' | 'tagType' | 'createdBy'>): Promise<RunTag>;
  /** Undefined when there is none. @throws ServiceError `Conflict` when another tag of the run has the key. */
  update(runId: string, tagId: string, change: Pick<RunTag, 'key' | 'value' | 'tagType'>): Promise<RunTag | undefined>;
  /** False when there was none. */
  remove(runId: string, tagId: string): Promise<boolean>;
}

/** A job of a run: the run itself, or the computing of one of its metrics. */
export interface Job {
  id: string;
  projectId: string;
  runId: string;
  name: string;
  request: Record<string, unknown>;
  workflowNumber: number;
  /** The scoring that it follows; null for a job that follows the run's workflow. */
  scoringId: string | null;
  createdAt: Date;
}

export interface JobStore {
  /** Keeps those that are not kept yet. */
  insert(jobs: readonly Omit<Job, 'createdAt' | 'scoringId'>[]): Promise<void>;
  find(jobId: string): Promise<Job | undefined>;
  /** Newest first; the run's own job before those of its metrics. */
  ofRun(projectId: string, runId: string): Promise<Job[]>;
}
