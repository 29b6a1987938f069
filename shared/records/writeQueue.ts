import { onBehalfOf } from '../accounts/currentCaller.ts';
import { ByteShares } from '../concurrency/byteShares.ts';

/** Where a group stands among the others. */
export interface QueuePosition {
  /** When all that came before it is done. */
  before: Promise<unknown>;
  /** What the group before it touches, which is sent now or was. */
  sent(): ReadonlySet<string>;
  /** Called when it is sent: the next one may be made ready, unless it touches one of these. */
  isReady(touched: ReadonlySet<string>): void;
}

export interface WriteQueueOptions<R> {
  /** Writes one group. It has answered each of the requests when it ends, or gives it back later (`putBack`). */
  write(group: R[], position: QueuePosition): Promise<void>;
  /** Bytes that are written together. */
  groupBytes: number;
  /** Bytes that may wait to be written; more is refused. */
  queueBytes: number;
}

// Long enough to gather what arrives together, short beside the insert itself (8 to 20 ms).
const GATHER_MS = 2;
// So much of a group is made ready while the one before it is sent, for which the engine would wait otherwise (a fifth of the time). Less than that
// waits and grows, since every part has its price. docs/decisions/overlapping-groups.md has the figures.
const EARLY_SHARE = 0.5;

/**
 * Gathers requests into groups and gives them out to be written: one is sent at a time, and the next one is made ready meanwhile. What waits is bounded.
 * Libraries that gather requests (`dataloader`, `p-queue`) count requests, not bytes, and share nothing between owners.
 */
export class WriteQueue<R extends { bytes: number }> {
  readonly #options: WriteQueueOptions<R>;
  readonly #shares: ByteShares;
  #waiting: R[] = [];
  readonly #arrivals = new WeakMap<R, number>();
  #arrived = 0;
  /** When all that was begun is done. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Resolves when the last exclusive work (`inTurn`) has ended. */
  #exclusive: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  #gathering = false;
  /** A group is being made ready. */
  #preparing = false;
  /** What the group touches that is sent now, or was last. */
  #sent: ReadonlySet<string> = new Set();

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
    const turn = this.#turn.then(work);
    this.#begun(turn.catch(() => {}));
    this.#exclusive = this.#turn;
    return turn;
  }

  #begun(work: Promise<unknown>): void {
    this.#underWay++;
    this.#turn = Promise.all([this.#turn, work]).then(() => {
      this.#underWay--;
      this.#writeNext();
    });
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    setTimeout(() => {
      this.#gathering = false;
      this.#writeNext();
    }, GATHER_MS);
  }

  /** Takes the next group, when it is time for it. */
  #writeNext(): void {
    if (this.#waiting.length === 0 || this.#gathering || this.#preparing) return;
    const bytes = this.#waiting.reduce((sum, request) => sum + request.bytes, 0);
    if (this.#underWay > 0 && bytes < EARLY_SHARE * this.#options.groupBytes) return;
    this.#preparing = true;
    let ready = false;
    const isReady = (touched: ReadonlySet<string>): void => {
      if (ready) return;
      ready = true;
      this.#sent = touched;
      this.#preparing = false;
      this.#writeNext();
    };
    const before = this.#turn;
    // A group is of many callers: none of them waits for the statements of the one that came first.
    const written = onBehalfOf(undefined, () =>
      this.#exclusive.then(() =>
        this.#options.write(takeGroup(this.#waiting, this.#options.groupBytes), { before, sent: () => this.#sent, isReady }),
      ),
    );
    // One that fails early lets the next one in no sooner than what came before it is done.
    this.#begun(Promise.all([written, before]).then(() => isReady(new Set())));
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
