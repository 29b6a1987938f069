import type { PageOf } from '../accounts/accountStore.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type {
  ChainPollTemplate,
  CodeScoreType,
  CreateScorerRequest,
  OutputType,
  ScorerConfig,
  ScorerType,
  SegmentFilter,
} from '../wire/scorers.ts';
import type { TunedInputType, TunedOutputType } from '../wire/scorerVersions.ts';

/** The fields that null takes back. */
type Revocable = keyof MetricScale | 'categories';

type Definition = Omit<CreateScorerRequest, 'id' | 'name' | 'scorer_type' | 'default_version_id' | 'project_ids'>;

/** The fields of a scorer beside its name, as they came in. They have their wire names, because they are stored and given back as they are. */
export type ScorerDefinition = {
  [Key in keyof Omit<Definition, Revocable>]?: NonNullable<Definition[Key]> | undefined;
} & Partial<Pick<Definition, Revocable>>;

/** A metric definition as users list it: one of theirs, or a built-in. */
export interface Scorer {
  id: string;
  name: string;
  scorerType: ScorerType;
  definition: ScorerDefinition;
  scopeProjects: { id: string; name: string }[];
  defaultVersion: ScorerVersion | null;
  latestVersion: ScorerVersion | null;
  /** Null for a built-in. */
  createdBy: string | null;
  createdAt: Date | null;
  updatedAt: Date | null;
  deleted: boolean;
}

/** The prompt of a judge and how often it is asked. It never changes. */
export interface JudgeDefinition {
  template: ChainPollTemplate;
  userPrompt: string | null;
  instructions: string | null;
  modelName: string | null;
  /** The models of several judges in turn, in place of `modelName`; absent where one model judges. */
  modelNames?: string[] | null | undefined;
  numJudges: number;
  nodeTypes: string[];
  explain: boolean;
  outputType: OutputType;
  inputType: ScorerDefinition['input_type'] | null;
  /** The small tuned model that the judge replaces; absent where a judge is meant. */
  tuned?: TunedModel | undefined;
}

/** A small model that was tuned to one metric, as a request describes it. None is run here: a judge is asked its prompt. */
export interface TunedModel {
  loraTaskId: number;
  loraWeightsPath: string | null;
  executor: string | null;
  inputType: TunedInputType | null;
  outputType: TunedOutputType | null;
}

/** Code, and what it says of itself: fixed once made. */
export interface CodeDefinition {
  code: string;
  scoreType: CodeScoreType;
  nodeTypes: string[];
  outputType: OutputType;
  /** It has an `aggregator_fn`, which sums up the values of an experiment. */
  aggregates: boolean;
  chainAggregation: 'sum' | 'average' | 'first' | 'last' | null;
}

export interface ScorerVersion {
  id: string;
  scorerId: string;
  version: number;
  definition: JudgeDefinition | CodeDefinition;
  createdBy: string;
  createdAt: Date;
}

/** A scorer as it is first stored. */
interface NewScorer {
  id: string;
  name: string;
  scorerType: Scorer['scorerType'];
  definition: ScorerDefinition;
  /** Seen by the whole organization. */
  organization: boolean;
  /** The projects that it belongs to. */
  projectIds: string[];
  createdBy: string;
}

interface ScorerChange {
  name?: string | undefined;
  defaultVersionId?: string | undefined;
  /** Members that change; the others stay. */
  definition: ScorerDefinition;
}

/** Runs of a project that have a scorer switched on. */
export interface ScorerUse {
  logStreams: number;
  experiments: number;
}

export interface RunScorerSettings {
  scorers: ScorerConfig[];
  segmentFilters: SegmentFilter[] | null;
}

/** Where scorers that users defined, their versions and the settings of runs are kept. */
export interface ScorerStore {
  /** False when another scorer of the organization, or of these projects, has the name, or one has the id. */
  insert(scorer: NewScorer): Promise<boolean>;
  /** Those not deleted, newest change first. */
  list(): Promise<Scorer[]>;
  /** By id, deleted ones included: their values outlive them. */
  findEver(ids: readonly string[]): Promise<Scorer[]>;
  find(id: string): Promise<Scorer | undefined>;
  /** False when another scorer of the organization, or of its projects, has the new name. */
  update(id: string, change: ScorerChange): Promise<boolean>;
  /**
   * Replaces who sees the scorer: the organization, or the projects.
   * @returns false when another scorer there has its name, or the scorer is gone
   */
  setScope(id: string, scope: Pick<NewScorer, 'organization' | 'projectIds'>): Promise<boolean>;
  /** How many log streams and experiments of each project have it switched on; of a version, those that compute with that one. */
  usedIn(id: string, versionId?: string): Promise<ReadonlyMap<string, ScorerUse>>;
  /** False when there was none. */
  delete(id: string): Promise<boolean>;
  /** Adds the next version and makes it the default; undefined when there is no such scorer. */
  addVersion(version: Omit<ScorerVersion, 'version' | 'createdAt'>): Promise<ScorerVersion | undefined>;
  findVersion(scorerId: string, version: number | 'latest'): Promise<ScorerVersion | undefined>;
  findVersionById(versionId: string): Promise<ScorerVersion | undefined>;
  /** A page of the versions, newest first. */
  versions(scorerId: string, offset: number, limit: number): Promise<PageOf<ScorerVersion>>;
  runExists(projectId: string, runId: string, kinds: readonly string[]): Promise<boolean>;
  runSettings(projectId: string, runId: string): Promise<RunScorerSettings | undefined>;
  /** Replaces what is given and leaves the rest. */
  saveRunSettings(projectId: string, runId: string, settings: Partial<RunScorerSettings>): Promise<RunScorerSettings>;
  /** Ids of the scorers that a run uses. */
  enabledIn(runId: string): Promise<string[]>;
  /** The scorer configs of all runs of a project, one per scorer: the latest setting. */
  projectScorers(projectId: string): Promise<ScorerConfig[]>;
}
