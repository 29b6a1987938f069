import { BriefCache } from '../briefCache.ts';
import type { Expiry, RunLookup, RunRef } from './runs.ts';

export interface Retention {
  /** Days of 24 hours; null: for ever. */
  days: number | null;
  /** Canonical time by the clock of Postgres, which is one for all processes; null where nothing expires. */
  expiredBefore: string | null;
}

export interface RetentionStore {
  /** Undefined when there is no such project. */
  get(projectId: string): Promise<Retention | undefined>;
  set(projectId: string, days: number | null): Promise<Retention | undefined>;
  /** Ids of projects with a retention, in order, those behind `after`. */
  projects(after: string | undefined, limit: number): Promise<string[]>;
}

/**
 * Which of these traces and sessions hold records on both sides of the time: they are kept whole. `many` when they are more than can be named in
 * a statement.
 */
export type FindStraddling = (projectId: string, runIds: readonly string[], before: string) => Promise<Expiry['kept']>;

export interface Expiries {
  /** What of these runs has expired; undefined when nothing of the project ever does. */
  of(projectId: string, runIds: readonly string[]): Promise<Expiry | undefined>;
  /** The time before which records of the project have expired; undefined when they never do. */
  before(projectId: string): Promise<string | undefined>;
  /** Call after a change of a retention, so that it holds at once in this process. */
  forget(): void;
}

/** A change in another process holds here after this. */
const RETENTION_GOOD_MS = 1_000;
/** Every read of a run asks what is kept. The time and what is kept by it belong together and get old together. */
const KEPT_GOOD_MS = 2_000;

/** What has expired, as reads ask for it: from Postgres once a second and project. */
export function createExpiries({
  store,
  straddling,
}: {
  store: Pick<RetentionStore, 'get'>;
  straddling: FindStraddling;
}): Expiries {
  const retentions = new BriefCache<Retention>({ ttlMs: RETENTION_GOOD_MS, maxEntries: 10_000 });
  const expired = new BriefCache<Expiry>({ ttlMs: KEPT_GOOD_MS, maxEntries: 1_000 });
  const retentionOf = async (projectId: string): Promise<Retention> =>
    (await retentions.get(projectId, () => store.get(projectId))) ?? { days: null, expiredBefore: null };
  return {
    async of(projectId, runIds) {
      const { days, expiredBefore: before } = await retentionOf(projectId);
      if (before === null || runIds.length === 0) return undefined;
      return expired.get(`${days} ${projectId} ${runIds.join(' ')}`, async () => ({
        before,
        kept: await straddling(projectId, runIds, before),
      }));
    },
    before: async (projectId) => (await retentionOf(projectId)).expiredBefore ?? undefined,
    forget() {
      retentions.clear();
      expired.clear();
    },
  };
}

/** The lookup for reads: the run without what has expired in it. */
export const unexpired =
  (find: RunLookup, expiries: Pick<Expiries, 'of'>): RunLookup =>
  async (projectId, ids) => {
    const run: RunRef = await find(projectId, ids);
    const expiry = await expiries.of(run.projectId, [run.runId]);
    return expiry ? { ...run, expiry } : run;
  };
