import type { LoginAttempts } from '../accounts/loginAttempts.ts';
import type { LoginCache } from '../accounts/loginCache.ts';

/** The state that processes of one service share while they run. None of it is a record: it may be lost at any time and is rebuilt. */
export interface Coordination {
  progress: ProgressBoard;
  waits: RunWaits;
  concurrency: ConcurrencyLimit;
  calls: CallGate;
  logins: LoginCache;
  attempts: LoginAttempts;
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

/** The reasons why calls of runs wait. */
export interface RunWaits {
  /** Says it of a run, until that time is over. */
  publish(experimentId: string, wait: RunWait): Promise<void>;
  /** The newest wait that is not over; undefined where there is none. */
  of(experimentId: string): Promise<RunWait | undefined>;
}

/** The other side of a run's calls takes none for a while. */
export interface RunWait {
  /** For people: what the other side said. */
  reason: string;
  /** Milliseconds since the epoch. */
  until: number;
}

/** How many slots a key has: a number, or a function that is asked again whenever one is freed and at each `changed`. */
export type SlotLimit = number | (() => number);

export interface AcquireOptions {
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
  /** The party that shares the key evenly with others, such as the id of a run. All that name none are one party. */
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

/** Limits of the calls to one endpoint, over all processes together. An absent limit does not hold. */
export interface CallLimits {
  /** Calls in flight. */
  concurrency: number;
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
}

/** Why a call had to wait: all slots were taken, calls or tokens per minute were used up, or the other side had said "too much". */
export type WaitReason = 'slot' | 'rate' | 'overload';

export interface EnterOptions extends AcquireOptions {
  signal: AbortSignal;
  /** Tokens that the call will use, by estimate; they are reserved until it ends. */
  tokens?: number | undefined;
}

/** How a call ended, as far as its other side is concerned. */
export interface CallOutcome {
  /** `overloaded`: it was refused because there was too much; `other` says nothing about that. */
  result: 'ok' | 'overloaded' | 'other';
  /** For people: how an overloaded side refused the call. */
  reason?: string | undefined;
  /** The wait that an overloaded side asked for. */
  retryAfterMs?: number | undefined;
  /** Tokens that were really used; where they are not known the estimate stays. */
  tokens?: number | undefined;
}

export interface CallPermit {
  /** Undefined where the call did not have to wait. */
  waitedFor: WaitReason | undefined;
  /** Milliseconds for which all calls of the key have been refused as too much; 0 where the last one was not. */
  refusedForMs: number;
  /** Ends the call; only the first time counts. */
  leave(outcome: CallOutcome): void;
}

/** The way to another side that bears only so much. */
export interface CallGate {
  /**
   * Waits until one more call of `key` may start in all processes together: shared as by {@link ConcurrencyLimit.acquire}, within the limits per
   * minute, and not faster than the other side was found to bear.
   * @throws as `acquire` does
   */
  enter(key: string, limits: () => CallLimits, options: EnterOptions): Promise<CallPermit>;
  /** Returns the limit that holds back the calls of `key` in this process; undefined where none waits. */
  heldBack(key: string): HeldBack | undefined;
  /** Says that the limits of `key` are not what they were. */
  changed(key: string): void;
}

export interface HeldBack {
  reason: WaitReason;
  /** When the next call may start, in milliseconds since the epoch; 0 where no time holds it back. */
  until: number;
}
