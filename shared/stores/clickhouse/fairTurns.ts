import { currentCaller } from '../../concurrency/currentCaller.ts';

/**
 * Lets a number of statements run at once, of one caller only a share of them. Callers that wait are let in one after the other, each with the oldest
 * of its statements, however many it sent. `p-queue` and `p-limit` order by arrival or by priority, and know no callers that take turns; the
 * one of them that does replaces this.
 */
export class FairTurns {
  readonly #size: number;
  readonly #share: number;
  readonly #running = new Map<string | undefined, number>();
  /** The caller whose turn is next comes first. */
  readonly #waiting = new Map<string | undefined, (() => void)[]>();
  #taken = 0;

  readonly #onWait: (seconds: number) => void;

  /** @param onWait gets how long a statement waited that was not let in at once */
  constructor(size: number, share = size, onWait: (seconds: number) => void = () => {}) {
    this.#onWait = onWait;
    this.#size = size;
    this.#share = share;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.take();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Waits for a turn. @returns what ends it */
  async take(): Promise<() => void> {
    const caller = currentCaller();
    // A new caller does not overtake those that wait: a turn that ends goes to one of them at once.
    if (this.#taken < this.#size && this.#ofCaller(caller) < this.#share) this.#count(caller, 1);
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      const queue = this.#waiting.get(caller) ?? [];
      queue.push(resolve);
      this.#waiting.set(caller, queue);
      const begun = performance.now();
      await promise;
      this.#onWait((performance.now() - begun) / 1_000);
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(caller, -1);
      this.#letIn();
    };
  }

  #ofCaller(caller: string | undefined): number {
    return this.#running.get(caller) ?? 0;
  }

  #count(caller: string | undefined, by: 1 | -1): void {
    this.#taken += by;
    const now = this.#ofCaller(caller) + by;
    if (now === 0) this.#running.delete(caller);
    else this.#running.set(caller, now);
  }

  #letIn(): void {
    for (const [caller, queue] of this.#waiting) {
      if (this.#taken >= this.#size) return;
      if (this.#ofCaller(caller) >= this.#share) continue;
      const next = queue.shift();
      this.#waiting.delete(caller);
      if (queue.length > 0) this.#waiting.set(caller, queue); // behind all others
      if (!next) continue;
      this.#count(caller, 1);
      next();
    }
  }
}
