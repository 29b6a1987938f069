import { ServiceError } from '../errors/errors.ts';

const FULL_RETRY_SECONDS = 10;

export interface StreamBounds {
  /** Name of what is counted, for errors: `live streams`. */
  what: string;
  /** Most of one account, and of all accounts, in a process. */
  ofAccount: number;
  ofAll: number;
}

/** Bounds how many streams of a kind are open in this process, whatever they are about. */
export class LiveStreams {
  readonly #bounds: StreamBounds;
  readonly #ofAccount = new Map<string, number>();
  #all = 0;

  constructor(bounds: StreamBounds = { what: 'live streams', ofAccount: 10, ofAll: 500 }) {
    this.#bounds = bounds;
  }

  /**
   * Counts one more stream of an account.
   * @returns what counts it off again, once
   * @throws ServiceError `TooManyRequests` where the account has its most streams, `Unavailable` where all have
   */
  enter(userId: string): () => void {
    const { what, ofAccount, ofAll } = this.#bounds;
    if ((this.#ofAccount.get(userId) ?? 0) >= ofAccount)
      throw new ServiceError(
        'TooManyRequests',
        `this account has ${ofAccount} ${what} open, which is the most: close one, then try again`,
        { retryAfterSeconds: FULL_RETRY_SECONDS },
      );
    if (this.#all >= ofAll)
      throw new ServiceError('Unavailable', `${ofAll} ${what} are open, which is the most: try again later`, {
        retryAfterSeconds: FULL_RETRY_SECONDS,
      });
    this.#count(userId, 1);
    return () => this.#count(userId, -1);
  }

  #count(userId: string, by: 1 | -1): void {
    this.#all += by;
    const now = (this.#ofAccount.get(userId) ?? 0) + by;
    if (now === 0) this.#ofAccount.delete(userId);
    else this.#ofAccount.set(userId, now);
  }
}
