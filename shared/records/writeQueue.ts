import { ByteShares } from '../concurrency/byteShares.ts';
import { onBehalfOf } from '../concurrency/currentCaller.ts';

export interface WriteQueueOptions<R> {
  /** Writes one group. It has answered each of the requests when it ends, or gives it back later (`putBack`). */
  write(group: R[]): Promise<void>;
  /** Bytes that are written together. */
  groupBytes: number;
  /** Bytes that may wait to be written; more is refused. */
  queueBytes: number;
}

// Long enough to gather what arrives together, short beside the insert itself (8 to 20 ms).
const GATHER_MS = 2;

/** `gathering`: requests wait for others that arrive with them; `alone`: work runs that nothing is written beside. */
type State = 'idle' | 'gathering' | 'writing' | 'alone';

/** The states that each state may become. */
const following: Readonly<Record<State, readonly State[]>> = {
  idle: ['gathering', 'writing', 'alone'],
  gathering: ['writing', 'alone'],
  writing: ['idle'],
  alone: ['idle'],
};

/**
 * Gathers requests into groups and gives them out to be written, one group at a time. What waits is bounded. What arrives while a group is written makes
 * the next one. Libraries that gather requests (`dataloader`, `p-queue`) count requests, not bytes, and share nothing between owners.
 */
export class WriteQueue<R extends { bytes: number }> {
  readonly #options: WriteQueueOptions<R>;
  readonly #shares: ByteShares;
  #state: State = 'idle';
  readonly #waiting: R[] = [];
  readonly #arrivals = new WeakMap<R, number>();
  #arrived = 0;
  /** Work that is to run alone. It comes before the requests that wait. */
  readonly #exclusive: (() => Promise<void>)[] = [];

  constructor(options: WriteQueueOptions<R>) {
    this.#options = options;
    this.#shares = new ByteShares(options.queueBytes, 'records that wait to be stored');
  }

  /** Bytes that wait to be written, or are being written. */
  get waitingBytes(): number {
    return this.#shares.bytes;
  }

  /**
   * @param owners who share what may wait
   * @param answered settles when the request is answered, and counts no longer
   * @throws ServiceError `TooManyRequests` when too much of an owner waits already, `Unavailable` when too much of others does
   */
  add(request: R, owners: readonly string[], answered: Promise<unknown>): void {
    const share = this.#shares.open(owners);
    share.add(request.bytes);
    answered.then(share.release, share.release);
    this.#arrivals.set(request, this.#arrived++);
    this.#waiting.push(request);
    this.#gather();
  }

  /** Lets a request wait anew that was given out and cannot be written yet: before those that came later. */
  putBack(request: R): void {
    const arrival = (one: R) => this.#arrivals.get(one) ?? 0;
    const later = this.#waiting.findIndex((one) => arrival(one) > arrival(request));
    this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, request);
    this.#gather();
  }

  /** Runs `work` when all that was let in before is done, and lets nothing in meanwhile. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#exclusive.push(() => work().then(resolve, reject));
    if (this.#state === 'idle' || this.#state === 'gathering') this.#begin();
    return promise;
  }

  #gather(): void {
    if (this.#state !== 'idle') return;
    this.#become('gathering');
    setTimeout(() => {
      if (this.#state === 'gathering') this.#begin();
    }, GATHER_MS);
  }

  /** Begins what is next, if anything is. */
  #begin(): void {
    const work = this.#exclusive.shift();
    if (work) void this.#run('alone', work);
    else if (this.#waiting.length > 0) void this.#run('writing', () => this.#writeGroup());
  }

  /** A group is of many callers: none of them waits for the statements of the one that came first. */
  #writeGroup(): Promise<void> {
    return onBehalfOf(undefined, () => this.#options.write(takeGroup(this.#waiting, this.#options.groupBytes)));
  }

  async #run(state: 'writing' | 'alone', work: () => Promise<void>): Promise<void> {
    this.#become(state);
    try {
      await work();
    } finally {
      this.#become('idle');
      this.#begin();
    }
  }

  #become(state: State): void {
    if (!following[this.#state].includes(state)) throw new Error(`a queue of writes that is ${this.#state} cannot be ${state}`);
    this.#state = state;
  }
}

/** Takes the first requests that make a group, at least one, out of those that wait. */
export function takeGroup<R extends { bytes: number }>(waiting: R[], groupBytes: number): R[] {
  let bytes = 0;
  const full = waiting.findIndex((request, index) => {
    bytes += request.bytes;
    return index > 0 && bytes > groupBytes;
  });
  return waiting.splice(0, full === -1 ? waiting.length : full);
}
