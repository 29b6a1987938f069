import type { ClickHouse } from './connect.ts';

/** Of a run with 2,000 rewritten records half a megabyte is known. */
const MAX_KEYS = 200;

/**
 * What was true when it was last asked, for reads that start at once and are made again when it turns out to have changed. Mostly it has not, and
 * the question takes a statement of its own, which is left out where nothing was written since.
 */
export class LastKnown<V> {
  readonly #assumed: V;
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #store: Pick<ClickHouse, 'writeMark'>;
  readonly #byKey = new Map<string, Known<V>>();

  /** @param assumed what most keys have, of which nothing is known yet */
  constructor(assumed: V, isSame: (one: V, other: V) => boolean, store: Pick<ClickHouse, 'writeMark'>) {
    this.#assumed = assumed;
    this.#isSame = isSame;
    this.#store = store;
  }

  /**
   * Asks what is true now.
   * @param ask is told what was true before
   */
  asked(key: string, ask: (last: V) => Promise<V>): Asked<V> {
    const { writeMark } = this.#store;
    const known = this.#byKey.get(key);
    const last = known ? known.value : this.#assumed;
    const isTrue = writeMark !== undefined && known?.writeMark === writeMark;
    const now = isTrue ? Promise.resolve(last) : ask(last).then((value) => this.#keep(key, { value, writeMark }));
    return {
      last,
      now,
      read: async (read) => {
        const [current, result] = await Promise.all([now, read(last)]);
        return this.#isSame(last, current) ? result : read(current);
      },
    };
  }

  #keep(key: string, known: Known<V>): V {
    this.#byKey.delete(key);
    this.#byKey.set(key, known);
    if (this.#byKey.size > MAX_KEYS) this.#byKey.delete(this.#byKey.keys().next().value as string);
    return known.value;
  }
}

interface Known<V> {
  value: V;
  /** Of the store, before it was asked. */
  writeMark: number | undefined;
}

export interface Asked<V> {
  /** What was true before. */
  last: V;
  now: Promise<V>;
  /** The result of `read` with what is true now; it is begun with what was true before. */
  read<T>(read: (known: V) => Promise<T>): Promise<T>;
}
