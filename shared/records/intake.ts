import { ServiceError } from '../errors.ts';

/** What a request holds beside the bytes of its body: the connection, headers, promises. */
const BYTES_PER_REQUEST = 16 * 1024;

/**
 * Bounds what this process holds of logged data at a time, from the first byte of a request to its answer: when the store is slow, requests wait,
 * and those beyond the bound are refused. Without it the heap would grow with the number of senders.
 */
export class Intake {
  readonly limitBytes: number;
  #bytes = 0;
  #refused = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Bytes of the requests under way, after decompression. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Requests that were refused before their records were known. */
  get refusedRequests(): number {
    return this.#refused;
  }

  /**
   * The share of one request, given back by `release`. One that is larger than the whole bound is taken when no other is under way.
   * @param announced bytes that it says will come; the bytes that come are what counts.
   * @throws ServiceError `TooManyRequests`, here and by `add`.
   */
  open(announced: number): IntakeShare {
    let held = 0;
    const claim = (bytes: number): void => {
      const others = this.#bytes - held;
      if (others <= 0 || this.#bytes + bytes <= this.limitBytes) return;
      this.#refused++;
      throw new ServiceError('TooManyRequests', 'more data arrives than can be stored; send this request again later', {
        retryAfterSeconds: 1,
      });
    };
    const add = (bytes: number): void => {
      claim(bytes);
      held += bytes;
      this.#bytes += bytes;
    };
    claim(BYTES_PER_REQUEST + announced);
    add(BYTES_PER_REQUEST);
    return {
      add,
      release: () => {
        this.#bytes -= held;
        held = 0;
      },
    };
  }
}

export interface IntakeShare {
  add(bytes: number): void;
  release(): void;
}
