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
 * Finds the run that a request names.
 * @throws RequestInvalid when it names none or several; ServiceError `RunNotFound` for one that is unknown, of another kind or of another project.
 */
export type RunLookup = (projectId: string, ids: RunIds) => Promise<RunRef>;

/** How many records of each sort a run holds. */
export interface RunCount {
  traces: number;
  spans: number;
  sessions: number;
}

/** Counts for those of `runIds` that hold records; a run without records may be absent. */
export type RunCounts = (projectId: string, runIds: readonly string[]) => Promise<ReadonlyMap<string, RunCount>>;

/** Deletes every record of a project, or of one run of it. Safe to repeat. */
export type DeleteRecords = (projectId: string, runId?: string) => Promise<void>;

/** What the lookup needs of the store of runs. */
export interface RunExistence {
  runExists(projectId: string, kind: RunKind, runId: string): Promise<boolean>;
}

const selectors = [
  ['log_stream_id', 'log_stream'],
  ['experiment_id', 'experiment'],
  ['metrics_testing_id', 'metrics_testing'],
] as const satisfies readonly (readonly [keyof RunIds, RunKind])[];

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface RunLookups {
  find: RunLookup;
  /** For writes, which are refused for a run that was deleted when they have its lock: what was found once is not asked for again. */
  findToWrite: RunLookup;
  forget(): void;
}

/**
 * The lookups over a store. Every ingest and search asks, so a run that was found counts as there for a second, and to writes for ten minutes; its project
 * and kind never change. `forget` makes a deletion hold at once in this process.
 */
export function createRunLookup(store: RunExistence): RunLookups {
  const known = new BriefCache<RunRef>({ ttlMs: 1_000, maxEntries: 10_000 });
  const written = new BriefCache<RunRef>({ ttlMs: 600_000, maxEntries: 10_000 });
  const findIn =
    (cache: BriefCache<RunRef>): RunLookup =>
    async (projectId, ids) => {
      const { kind, selector, runId } = selectedRun(ids);
      const load = async () =>
        uuid.test(runId) && (await store.runExists(projectId, kind, runId)) ? { projectId, runId, kind } : undefined;
      const run = await cache.get(`${projectId}/${kind}/${runId}`, load);
      if (!run) throw new ServiceError('RunNotFound', `no ${kind.replace('_', ' ')} with this ${selector} in the project`);
      return run;
    };
  return {
    find: findIn(known),
    findToWrite: findIn(written),
    forget() {
      known.clear();
      written.clear();
    },
  };
}

function selectedRun(ids: RunIds): { kind: RunKind; selector: string; runId: string } {
  const given = selectors.flatMap(([selector, kind]) => {
    const runId = ids[selector]?.toLowerCase();
    return runId === undefined ? [] : [{ kind, selector, runId }];
  });
  const [only] = given;
  if (given.length === 1 && only) return only;
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
