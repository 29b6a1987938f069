/** Of a run with 2,000 rewritten records half a megabyte is known. */
const MAX_KEYS = 200;

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
   * Asks what is true now.
   * @param ask is told what was true before
   */
  asked(key: string, ask: (last: V) => Promise<V>): Asked<V> {
    const last = this.#byKey.get(key) ?? this.#assumed;
    const now = ask(last).then((known) => {
      this.#byKey.delete(key);
      if (this.#isSame(known, this.#assumed)) return known;
      this.#byKey.set(key, known);
      if (this.#byKey.size > MAX_KEYS) this.#byKey.delete(this.#byKey.keys().next().value as string);
      return known;
    });
    return {
      now,
      read: async (read) => {
        const [known, result] = await Promise.all([now, read(last)]);
        return this.#isSame(last, known) ? result : read(known);
      },
    };
  }
}

export interface Asked<V> {
  now: Promise<V>;
  /** The result of `read` with what is true now; it is begun with what was true before. */
  read<T>(read: (known: V) => Promise<T>): Promise<T>;
}
