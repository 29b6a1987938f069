import type { LoginCache } from '../accounts/loginCache.ts';

/** What processes of one service tell each other while they run. Nothing here is a record: it may be lost at any time and is rebuilt. */
export interface Coordination {
  progress: ProgressBoard;
  concurrency: ConcurrencyLimit;
  logins: LoginCache;
  /** @throws ServiceError `Unavailable` when the other side does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds for which a part's word holds: a worker that died no longer counts after them. */
export const PART_MS = 15_000;

/** How many rows of a run are in flight, from the workers that have them in their hands. */
export interface ProgressBoard {
  /** Says it for one part of a run, until its next word or for {@link PART_MS}. */
  publish(experimentId: string, part: string, rowsRunning: number): Promise<void>;
  /** Rows in flight over all parts, in every process. */
  rowsRunning(experimentId: string): Promise<number>;
}

export interface ConcurrencyLimit {
  /**
   * Waits until fewer than `limit` holders of `key` exist in all processes together, and becomes one until `release` is called.
   * First come, first served within a process; processes take turns. The slot of a process that dies comes back by itself.
   * Calls must use one limit per key; when it changes, a lower one holds for those who come after.
   * @throws the signal's reason when it is aborted while waiting; ServiceError `Unavailable` when the other side is lost.
   */
  acquire(key: string, limit: number, options?: { signal?: AbortSignal }): Promise<() => void>;
}
