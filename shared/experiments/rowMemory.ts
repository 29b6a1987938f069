import { onAbort } from '../concurrency/onAbort.ts';

interface Waiting {
  bytes: number;
  begin(): void;
}

/**
 * Bounds what all rows of this process hold of large answers at a time. Rows wait their turn, first come, first served: none fails for it. A row takes
 * its part once, as much as it may need, so that no two rows wait for each other.
 */
export class RowMemory {
  readonly #limitBytes: number;
  #bytes = 0;
  readonly #waiting: Waiting[] = [];

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Bytes that rows hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of one row, empty at first. */
  open(): RowShare {
    let held = 0;
    let isOver = false;
    const shrink = (bytes: number): void => {
      this.#bytes -= held - bytes;
      held = bytes;
      this.#next();
    };
    return {
      take: async (bytes, signal) => {
        signal.throwIfAborted();
        if (isOver) throw new Error('the row has ended');
        if (bytes <= held) return;
        shrink(0); // of a try before this one
        await this.#turn(bytes, signal);
        // A row that was given up meanwhile holds nothing.
        if (isOver) this.#bytes -= bytes;
        else held = bytes;
        this.#next();
      },
      keep: (bytes) => shrink(Math.min(bytes, held)),
      release: () => {
        isOver = true;
        shrink(0);
      },
    };
  }

  /** Returns whether the bytes fit now. A row larger than the whole bound fits when no other row holds anything. */
  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#limitBytes;
  }

  #turn(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#bytes += bytes;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const entry: Waiting = {
        bytes,
        begin: () => {
          forget();
          resolve();
        },
      };
      const forget = onAbort(signal, () => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(signal.reason);
        this.#next();
      });
      this.#waiting.push(entry);
    });
  }

  #next(): void {
    for (let first = this.#waiting[0]; first && this.#fits(first.bytes); first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#bytes += first.bytes;
      first.begin();
    }
  }
}

export interface RowShare {
  /** Waits until so many bytes are the row's. @throws the signal's reason */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** Gives back what is more than so many bytes. */
  keep(bytes: number): void;
  /** Gives everything back: the row is recorded, or given up. */
  release(): void;
}
