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

/** How many slots a key has: a number, or a function that is asked again whenever one is freed and at each `changed`. */
export type SlotLimit = number | (() => number);

export interface AcquireOptions {
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
  /** Who shares the key evenly with others, such as the id of a run; all that name none are one party. */
  party?: string | undefined;
}

export interface ConcurrencyLimit {
  /**
   * Waits for one of `limit` slots of `key`, counted over all processes, and takes it until the returned function is called.
   *
   * Slots are shared evenly between the parties that want them, whatever number of waiters or processes each has: a freed slot goes to the party
   * with the fewest slots; among equals to the one that waited longest for its turn. Within a party the processes take turns, and within a process
   * the first to come is the first to be served. No slot stays free while somebody may take it. The slots of a process that dies come back by
   * themselves. A lowered limit takes no slot away: it holds for those who come after.
   * @throws the signal's reason when it is aborted while waiting; ServiceError `Unavailable` when the other side is lost.
   */
  acquire(key: string, limit: SlotLimit, options?: AcquireOptions): Promise<() => void>;
  /** Says that a limit of `key` is not what it was: who waits in this process is served by the new one at once. */
  changed(key: string): void;
}

/** The limit as it is now. */
export const slotsOf = (limit: SlotLimit): number => (typeof limit === 'number' ? limit : limit());
