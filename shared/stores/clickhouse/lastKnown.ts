const MAX_KEYS = 1000;

/**
 * What was true when it was last asked, for reads that start at once and are made again when it turns out to have changed. Mostly it has not, and
 * the question takes a statement of its own.
 */
export class LastKnown<V> {
  readonly #assumed: V;
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #byKey = new Map<string, V>();

  /** @param assumed what most keys have, of which nothing is known yet */
  constructor(assumed: V, isSame: (one: V, other: V) => boolean) {
    this.#assumed = assumed;
    this.#isSame = isSame;
  }

  /**
   * The result of `read` with what is true now, and what that is.
   * @param ask is told what was true before
   */
  async readWith<T>(key: string, ask: (last: V) => Promise<V>, read: (known: V) => Promise<T>): Promise<{ known: V; result: T }> {
    const last = this.#byKey.get(key) ?? this.#assumed;
    const [known, result] = await Promise.all([ask(last), read(last)]);
    this.#byKey.delete(key);
    this.#byKey.set(key, known);
    if (this.#byKey.size > MAX_KEYS) this.#byKey.delete(this.#byKey.keys().next().value as string);
    return { known, result: this.#isSame(last, known) ? result : await read(known) };
  }
}
