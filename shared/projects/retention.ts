import { BriefCache } from '../concurrency/briefCache.ts';
import type { Expiry, NewestRecords, RunLookup, RunRef } from './runs.ts';

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

/** The records that a retention would delete of a project. */
export interface RetentionEffect {
  traces: number;
  /** Records of these traces, the traces themselves included. */
  records: number;
  /** Time of the oldest of them; null without one. */
  oldest: string | null;
}

/** @param already the time before which records have expired now: what they are is not counted again */
export type FindWouldExpire = (projectId: string, before: string, already: string | null) => Promise<RetentionEffect>;

/**
 * Returns which of these traces and sessions hold records on both sides of the time: they are kept whole. `many` when they are more than can be named in
 * a statement.
 */
export type FindStraddling = (projectId: string, runIds: readonly string[], before: string) => Promise<Expiry['kept']>;

export interface Expiries {
  /** Returns what of these runs has expired; undefined when nothing of the project ever does. */
  of(projectId: string, runIds: readonly string[]): Promise<Expiry | undefined>;
  /** The time before which records of the project have expired; undefined when they never do. */
  before(projectId: string): Promise<string | undefined>;
  /** Call after a change of a retention, so that it holds at once in this process. */
  forget(): void;
}

/** A change in another process holds here after this. */
const RETENTION_GOOD_MS = 1_000;
/**
 * Every read of a run asks what is kept. The time and what is kept by it belong together and get old together: they are good for as many times as
 * long as it took to find them, so that this costs a twentieth of one core at most.
 */
const KEPT_GOOD = { minMs: 2_000, maxMs: 600_000, timesTaken: 20 };
const MAX_RUNS = 1_000;

/** Makes the look-up of what has expired. It asks Postgres once a second and project. */
export function createExpiries({
  store,
  straddling,
}: {
  store: Pick<RetentionStore, 'get'>;
  straddling: FindStraddling;
}): Expiries {
  const retentions = new BriefCache<Retention>({ ttlMs: RETENTION_GOOD_MS, maxEntries: 10_000 });
  const expired = new Renewed<Expiry>();
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

/** Loads a value once for all who ask. While it is renewed they get the value that was loaded before. */
class Renewed<V> {
  readonly #entries = new Map<string, { value: Promise<V>; loadedAt: number; goodMs: number; renewal?: Promise<unknown> }>();

  async get(key: string, load: () => Promise<V>): Promise<V> {
    const entry = this.#entries.get(key);
    const age = entry ? performance.now() - entry.loadedAt : 0;
    // No caller has asked for long: the loaded value is too old to be returned once more.
    if (!entry || age > 2 * entry.goodMs) return this.#load(key, load).value;
    if (age > entry.goodMs) {
      entry.renewal ??= load().then(
        (value) =>
          this.#entries.get(key) === entry && this.#keep(key, Promise.resolve(value), performance.now() - entry.loadedAt - age),
        () => {
          delete entry.renewal; // the next who asks tries again
        },
      );
    }
    return entry.value;
  }

  clear(): void {
    this.#entries.clear();
  }

  #load(key: string, load: () => Promise<V>) {
    const start = performance.now();
    const entry = this.#keep(key, load(), 0);
    entry.value.then(
      () => {
        entry.goodMs = goodFor(performance.now() - start);
      },
      () => this.#entries.get(key) === entry && this.#entries.delete(key),
    );
    return entry;
  }

  #keep(key: string, value: Promise<V>, tookMs: number) {
    const entry = { value, loadedAt: performance.now(), goodMs: goodFor(tookMs) };
    this.#entries.delete(key);
    if (this.#entries.size >= MAX_RUNS) this.#entries.delete(this.#entries.keys().next().value as string);
    this.#entries.set(key, entry);
    return entry;
  }
}

const goodFor = (tookMs: number): number => Math.min(Math.max(tookMs * KEPT_GOOD.timesTaken, KEPT_GOOD.minMs), KEPT_GOOD.maxMs);

/** The run as reads take it: without what has expired in it. */
export async function withoutExpired(run: RunRef, expiries: Pick<Expiries, 'of'>): Promise<RunRef> {
  const expiry = await expiries.of(run.projectId, [run.runId]);
  return expiry ? { ...run, expiry } : run;
}

/** The lookup for reads: the run without what has expired in it. */
export const unexpired =
  (find: RunLookup, expiries: Pick<Expiries, 'of'>): RunLookup =>
  async (projectId, ids) =>
    withoutExpired(await find(projectId, ids), expiries);

/** A project whose newest record has expired holds none that reads find. */
export const unexpiredNewest =
  (newestRecords: NewestRecords, expiries: Pick<Expiries, 'before'>): NewestRecords =>
  async (projectIds) => {
    const newest = [...(await newestRecords(projectIds))];
    const before = await Promise.all(newest.map(([projectId]) => expiries.before(projectId)));
    return new Map(newest.filter(([, at], index) => at >= (before[index] ?? '')));
  };
