import type { Logger } from 'pino';
import { onBehalfOf } from './currentCaller.ts';
import type { LiveStreams } from './liveStreams.ts';
import { onAbort } from './onAbort.ts';

/** Something whose state is read again and again. */
export interface Followed<State> extends Disposable {
  /** As it was when the following began. */
  readonly first: State;
  /** The state as soon as it is another one than `seen`; undefined after `ms`, or when the signal aborts. */
  changed(seen: State, ms: number, signal: AbortSignal): Promise<State | undefined>;
}

export interface FollowDeps<Thing, State> {
  streams: LiveStreams;
  /** Equal of equal things. */
  nameOf(thing: Thing): string;
  /** @param before the state that is known: the same object is returned where nothing has changed */
  read(thing: Thing, before: State | undefined): Promise<State>;
  log: Pick<Logger, 'warn'>;
}

/** Milliseconds between two reads of one thing. */
const POLL_MS = 1_000;
/** Reads of all things together take at most one part of so many of the time. */
const POLL_SHARE = 10;

/** Follows states for those who listen: however many listen to one, it is read once a second, or less often where reading takes long. */
export class FollowedStates<Thing, State> {
  readonly #deps: FollowDeps<Thing, State>;
  readonly #polled = new Map<string, PolledState<State>>();

  constructor(deps: FollowDeps<Thing, State>) {
    this.#deps = deps;
  }

  /** @throws ServiceError `TooManyRequests` or `Unavailable` where too many streams are open */
  async follow(thing: Thing, userId: string): Promise<Followed<State>> {
    const { streams, nameOf, read, log } = this.#deps;
    const countOff = streams.enter(userId);
    const name = nameOf(thing);
    const polled = this.#polled.get(name) ?? new PolledState((before) => read(thing, before));
    this.#polled.set(name, polled);
    polled.listeners++;
    const leave = () => {
      countOff();
      if (--polled.listeners > 0) return;
      polled.stop();
      this.#polled.delete(name);
    };
    try {
      const first = await polled.look();
      polled.keepLooking((tookMs) => Math.max(POLL_MS, tookMs * POLL_SHARE * this.#polled.size), log);
      return { first, changed: (seen, ms, signal) => polled.changed(seen, ms, signal), [Symbol.dispose]: leave };
    } catch (err) {
      leave();
      throw err;
    }
  }
}

class PolledState<State> {
  listeners = 0;
  readonly #read: (before: State | undefined) => Promise<State>;
  readonly #waiting = new Set<() => void>();
  #state: State | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #begun = 0;
  #shown = 0;

  constructor(read: (before: State | undefined) => Promise<State>) {
    this.#read = read;
  }

  /** Reads the state, as work of the service: it is for all who listen. An answer that another one has overtaken changes nothing. */
  async look(): Promise<State> {
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

  async changed(seen: State, ms: number, signal: AbortSignal): Promise<State | undefined> {
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
