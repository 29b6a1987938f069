import { ServiceError } from '../errors/errors.ts';

/** One request's part of the bytes. */
export interface ByteShare {
  /** @throws ServiceError `TooManyRequests` when an owner of the request holds its share, `Unavailable` when others hold too much. */
  add(bytes: number): void;
  /** Gives all of them back. May be called again. */
  release(): void;
}

/** Share of the bytes that one request must leave to others; see {@link ByteShares}. */
const LEFT_BY_ONE = 1 / 4;

/**
 * Bounds the bytes that requests hold in this process, and shares them between owners (accounts, projects). An owner may hold as much as is left free
 * after it took: alone half of all, two of them a third each. So an owner that comes later always finds room, however much the others ask for. The only
 * request of its owners may be larger: it must leave a quarter free. A request is taken at any size while nothing else is held. Semaphores of
 * libraries let in by a count and make the others wait; this one refuses at once, and by what each owner holds.
 */
export class ByteShares {
  readonly limitBytes: number;
  /** Name of what takes the bytes, for messages: `bodies of requests`. */
  readonly #what: string;
  readonly #held = new Map<string, number>();
  #bytes = 0;
  #refused = 0;

  constructor(limitBytes: number, what: string) {
    this.limitBytes = limitBytes;
    this.#what = what;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Requests that were refused since the start. */
  get refusedRequests(): number {
    return this.#refused;
  }

  /** Bytes of the largest request that is taken while others hold little. */
  get largestRequest(): number {
    return Math.floor(this.limitBytes * (1 - LEFT_BY_ONE));
  }

  /**
   * @param announced bytes that the request says will come: it is refused at once where they do not fit. The bytes that are added are what counts.
   * @throws as `add` does
   */
  open(owners: readonly string[], announced = 0): ByteShare {
    let held = 0;
    this.#check(owners, held, announced);
    const hold = (bytes: number): void => {
      held += bytes;
      this.#bytes += bytes;
      for (const owner of owners) {
        const sum = (this.#held.get(owner) ?? 0) + bytes;
        if (sum > 0) this.#held.set(owner, sum);
        else this.#held.delete(owner);
      }
    };
    return {
      add: (bytes) => {
        this.#check(owners, held, bytes);
        hold(bytes);
      },
      release: () => hold(-held),
    };
  }

  /** @param held what the request holds already */
  #check(owners: readonly string[], held: number, bytes: number): void {
    if (this.#bytes === held) return;
    const free = this.limitBytes - this.#bytes - bytes;
    for (const owner of owners) {
      const ofOwner = this.#held.get(owner) ?? 0;
      const isOnly = ofOwner === held;
      if (ofOwner + bytes <= free || (isOnly && free >= this.limitBytes * LEFT_BY_ONE)) continue;
      this.#refused++;
      const retry = { retryAfterSeconds: 1 };
      if (isOnly)
        throw new ServiceError('Unavailable', `${this.#what} take all that the service has for them; send this one later`, retry);
      throw new ServiceError(
        'TooManyRequests',
        `${this.#what} of this account or project take its share of what the service holds at a time; send this one later, or fewer at a time`,
        retry,
      );
    }
  }
}
