import { BriefCache } from '../concurrency/briefCache.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';

export const runKinds = ['log_stream', 'experiment', 'metrics_testing'] as const;
export type RunKind = (typeof runKinds)[number];

/** How a request names its run: exactly one of the three. */
export interface RunIds {
  log_stream_id?: string | null | undefined;
  experiment_id?: string | null | undefined;
  metrics_testing_id?: string | null | undefined;
}

export interface RunRef {
  projectId: string;
  runId: string;
  /** Set where a request named the run. */
  kind?: RunKind;
  /** Set for reads of a project with a retention: they find nothing that has expired. */
  expiry?: Expiry;
}

/**
 * A record has expired when it was created before this time, by its `created_at`, and so was every record of its trace; a session, when so was every
 * record of it. `kept` names the traces and sessions that began before and have newer records; `many` of them are found by the store.
 */
export interface Expiry {
  /** Canonical time. */
  before: string;
  kept: readonly string[] | 'many';
}

/**
 * Finds the run that a request names; `log_stream_id` may be that of an experiment.
 * @throws RequestInvalid when it names none or several; ServiceError `RunNotFound` for one that is unknown, of another kind or of another project.
 */
export type RunLookup = (projectId: string, ids: RunIds) => Promise<RunRef>;

/** How many records of each kind a run holds, and when the newest of them was made. */
export interface RunCount {
  traces: number;
  spans: number;
  sessions: number;
  /** Canonical time, the latest `created_at`; null of a run without records. */
  newestAt: string | null;
}

/** The count of a run that is absent from `RunCounts`. */
export const noRecords: RunCount = { traces: 0, spans: 0, sessions: 0, newestAt: null };

/** Counts for those of `runIds` that hold records; a run without records may be absent. */
export type RunCounts = (projectId: string, runIds: readonly string[]) => Promise<ReadonlyMap<string, RunCount>>;

/** Canonical times of the newest records of those of `projectIds` that hold any. */
export type NewestRecords = (projectIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Deletes every record of a project, or of one run of it. Safe to repeat. */
export type DeleteRecords = (projectId: string, runId?: string) => Promise<void>;

/** The parts of the store of runs that the lookup needs. */
export interface RunNames {
  /** Undefined where the project has no such run. */
  runName(projectId: string, kind: RunKind, runId: string): Promise<string | undefined>;
}

const selectors = [
  ['log_stream_id', 'log_stream'],
  ['experiment_id', 'experiment'],
  ['metrics_testing_id', 'metrics_testing'],
] as const satisfies readonly (readonly [keyof RunIds, RunKind])[];

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface RunLookups {
  find: RunLookup;
  /** Undefined for a run that is not there. */
  nameOf(run: NamedRun): Promise<string | undefined>;
  /** For a run that is about to be read beside something else: takes it when it is there. */
  expect(): (run: NamedRun, name: string) => void;
  /** Makes a deletion hold at once in this process. */
  forget(): void;
}

/** The lookups over a store. Every search asks, so a run that was found counts as there for a second. */
export function createRunLookup(store: RunNames): RunLookups {
  const names = new BriefCache<string>({ ttlMs: 1_000, maxEntries: 10_000 });
  const keyOf = ({ projectId, kind, runId }: NamedRun) => `${projectId}/${kind}/${runId}`;
  const nameOf = (run: NamedRun) => names.get(keyOf(run), () => store.runName(run.projectId, run.kind, run.runId));
  return {
    async find(projectId, ids) {
      const named = namedRun(projectId, ids);
      // Clients ask for the columns and the export of an experiment by `log_stream_id`.
      const kinds: RunKind[] = named.kind === 'log_stream' ? ['log_stream', 'experiment'] : [named.kind];
      for (const kind of kinds) {
        const run = { ...named, kind };
        if ((await nameOf(run)) !== undefined) return run;
      }
      throw runNotFound(named);
    },
    nameOf,
    expect() {
      const remember = names.expect();
      return (run, name) => remember(keyOf(run), name);
    },
    forget: () => names.clear(),
  };
}

/** A run of the kind that a request says. */
export type NamedRun = RunRef & { kind: RunKind };

/** The error for a run that is not in its project, or not any more. */
export function runNotFound({ kind }: RunRef): ServiceError {
  if (!kind) return new ServiceError('RunNotFound', 'the run was deleted');
  const selector = selectors.find((one) => one[1] === kind)?.[0];
  return new ServiceError('RunNotFound', `no ${kind.replace('_', ' ')} with this ${selector} in the project`);
}

/**
 * The run that a request names, whether it is there or not: writes are refused for one that is not there when they have its lock.
 * @throws RequestInvalid when it names none or several; ServiceError `RunNotFound` for what is no id of a run.
 */
export function namedRun(projectId: string, ids: RunIds): NamedRun {
  const given = selectors.flatMap(([selector, kind]) => {
    const runId = ids[selector]?.toLowerCase();
    return runId === undefined ? [] : [{ projectId, runId, kind }];
  });
  const [only] = given;
  if (given.length === 1 && only) {
    if (!uuid.test(only.runId)) throw runNotFound(only);
    return only;
  }
  const msg = given.length === 0 ? 'name the run' : 'name one run only';
  throw new RequestInvalid([
    { loc: ['body'], msg: `${msg}: exactly one of log_stream_id, experiment_id and metrics_testing_id`, type: 'run_selector' },
  ]);
}

/** A log stream, or a run of another kind as lists of runs show it. */
export interface Run {
  id: string;
  projectId: string;
  kind: RunKind;
  name: string;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}
