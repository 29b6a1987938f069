import type { PageOf } from '../accounts/accountStore.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type {
  ChainPollTemplate,
  CreateScorerRequest,
  OutputType,
  ScorerConfig,
  ScorerType,
  SegmentFilter,
} from '../wire/scorers.ts';

/** What can be taken back by null. */
type Revocable = keyof MetricScale | 'categories';

type Definition = Omit<CreateScorerRequest, 'id' | 'name' | 'scorer_type' | 'default_version_id' | 'project_ids'>;

/** What a scorer says about itself beside its name, as it came in: wire names, because it is stored and given back as it is. */
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

/** What a judge is asked, and how often: fixed once made. */
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
}

export interface ScorerVersion {
  id: string;
  scorerId: string;
  version: number;
  definition: JudgeDefinition;
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
