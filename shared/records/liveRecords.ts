import type { Logger } from 'pino';
import { onBehalfOf } from '../accounts/currentCaller.ts';
import { onAbort } from '../concurrency/onAbort.ts';
import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';

export type OfSorts<T> = Record<'traces' | 'spans' | 'sessions', T>;

/** The records of a run at a moment. */
export interface RunState {
  counts: OfSorts<number>;
  /** Canonical times of the newest trace, span and session; null where there is none. */
  newest: Readonly<OfSorts<string | null>>;
}

/** @param before the state that is known: the same object is returned where the run still has the same numbers of records */
export type ReadRunState = (run: RunRef, before: RunState | undefined) => Promise<RunState>;

/** A run whose state is read again and again. */
export interface FollowedRun extends Disposable {
  /** As it was when the following began. */
  readonly first: RunState;
  /** The state as soon as it is another one than `seen`; undefined after `ms`, or when the signal aborts. */
  changed(seen: RunState, ms: number, signal: AbortSignal): Promise<RunState | undefined>;
}

/** Streams of one caller, and of all callers, in a process. */
const MOST_OF_CALLER = 10;
const MOST_OF_ALL = 500;
const FULL_RETRY_SECONDS = 10;
/** Milliseconds between two reads of a run. */
const POLL_MS = 1_000;
/** Reads of all runs together take at most one part of so many of the time. */
const POLL_SHARE = 10;

/** Follows runs for those who listen: however many listen to a run, it is read once a second, or less often where reading takes long. */
export class LiveRuns {
  readonly #read: ReadRunState;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #runs = new Map<string, PolledRun>();
  readonly #ofCaller = new Map<string, number>();
  #streams = 0;

  constructor(read: ReadRunState, log: Pick<Logger, 'warn'>) {
    this.#read = read;
    this.#log = log;
  }

  /** @throws ServiceError `TooManyRequests` where the caller has its most streams, `Unavailable` where all have */
  async follow(run: RunRef, userId: string): Promise<FollowedRun> {
    const ofCaller = this.#ofCaller.get(userId) ?? 0;
    if (ofCaller >= MOST_OF_CALLER)
      throw new ServiceError(
        'TooManyRequests',
        `this account has ${MOST_OF_CALLER} live streams open, which is the most: close one, then try again`,
        { retryAfterSeconds: FULL_RETRY_SECONDS },
      );
    if (this.#streams >= MOST_OF_ALL)
      throw new ServiceError('Unavailable', `${MOST_OF_ALL} live streams are open, which is the most: try again later`, {
        retryAfterSeconds: FULL_RETRY_SECONDS,
      });
    this.#count(userId, 1);
    const name = `${run.projectId} ${run.runId}`;
    const polled = this.#runs.get(name) ?? new PolledRun((before) => this.#read(run, before));
    this.#runs.set(name, polled);
    polled.listeners++;
    const leave = () => {
      this.#count(userId, -1);
      if (--polled.listeners > 0) return;
      polled.stop();
      this.#runs.delete(name);
    };
    try {
      const first = await polled.look();
      polled.keepLooking((tookMs) => Math.max(POLL_MS, tookMs * POLL_SHARE * this.#runs.size), this.#log);
      return { first, changed: (seen, ms, signal) => polled.changed(seen, ms, signal), [Symbol.dispose]: leave };
    } catch (err) {
      leave();
      throw err;
    }
  }

  #count(userId: string, by: 1 | -1): void {
    this.#streams += by;
    const now = (this.#ofCaller.get(userId) ?? 0) + by;
    if (now === 0) this.#ofCaller.delete(userId);
    else this.#ofCaller.set(userId, now);
  }
}

class PolledRun {
  listeners = 0;
  readonly #read: (before: RunState | undefined) => Promise<RunState>;
  readonly #waiting = new Set<() => void>();
  #state: RunState | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #begun = 0;
  #shown = 0;

  constructor(read: (before: RunState | undefined) => Promise<RunState>) {
    this.#read = read;
  }

  /** Reads the state, as work of the service: it is for all who listen. An answer that another one has overtaken changes nothing. */
  async look(): Promise<RunState> {
    const turn = ++this.#begun;
    const state = await onBehalfOf(undefined, () => this.#read(this.#state));
    if (turn < this.#shown || state === this.#state) return this.#state ?? state;
    this.#shown = turn;
    this.#state = state;
    for (const wake of [...this.#waiting]) wake();
    return state;
  }

  keepLooking(pauseAfter: (tookMs: number) => number, log: Pick<Logger, 'warn'>): void {
    if (this.#timer || this.#isStopped) return;
    let tookMs = 0;
    const next = () => {
      if (this.#isStopped) return;
      this.#timer = setTimeout(async () => {
        const begun = performance.now();
        await this.look().catch((err: unknown) =>
          log.warn({ err }, 'a run that is followed could not be read; it is tried again'),
        );
        tookMs = performance.now() - begun;
        next();
      }, pauseAfter(tookMs));
      this.#timer.unref();
    };
    next();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async changed(seen: RunState, ms: number, signal: AbortSignal): Promise<RunState | undefined> {
    if (this.#state === seen && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      const unheard = onAbort(signal, resolve);
      this.#waiting.add(resolve);
      await promise;
      this.#waiting.delete(resolve);
      unheard();
      clearTimeout(timer);
    }
    return this.#state === seen || signal.aborted ? undefined : this.#state;
  }
}
