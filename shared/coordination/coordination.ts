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

/** A picture of a running experiment, as its workers last gave it. Times are ISO 8601. */
export interface Progress {
  rowsTotal: number;
  rowsDone: number;
  rowsFailed: number;
  rowsRunning: number;
  scoresDone: number;
  scoresTotal: number;
  startedAt: string;
  updatedAt: string;
}

export interface ProgressBoard {
  /** Shows this picture to every process. One whose `updatedAt` is before the shown one's changes nothing. */
  publish(experimentId: string, progress: Progress): Promise<void>;
  /** The newest picture, for a day after it was published. */
  read(experimentId: string): Promise<Progress | undefined>;
  /** Calls `onProgress` for every picture shown from now on, in any process, until the returned function is called. */
  subscribe(experimentId: string, onProgress: (progress: Progress) => void): Promise<() => void>;
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
