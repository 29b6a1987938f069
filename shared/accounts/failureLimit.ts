/** Counts failures per key in windows that begin with a failure. Successes are never counted. */
export class FailureLimit {
  readonly #windows = new Map<string, { failures: number; endsAt: number }>();
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #maxKeys: number;

  constructor(options: { limit: number; windowMs: number; maxKeys: number }) {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
    this.#maxKeys = options.maxKeys;
  }

  /** Seconds until `key` may try again, or undefined when it may now. */
  waitSeconds(key: string): number | undefined {
    const window = this.#windows.get(key);
    if (!window || window.failures < this.#limit) return undefined;
    const waitMs = window.endsAt - performance.now();
    return waitMs > 0 ? waitMs / 1_000 : undefined;
  }

  count(key: string): void {
    const now = performance.now();
    const window = this.#windows.get(key);
    if (window && window.endsAt > now) {
      window.failures += 1;
      return;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= this.#maxKeys) this.#windows.delete(this.#windows.keys().next().value as string);
    this.#windows.set(key, { failures: 1, endsAt: now + this.#windowMs });
  }

  clear(key: string): void {
    this.#windows.delete(key);
  }
}
