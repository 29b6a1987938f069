/**
 * Remembers what was loaded for a moment, so that questions asked on every request cost one load a second. Loads of one key under way are
 * shared. `clear` holds at once in this process: a load that began before it is handed to those who wait for it, but not remembered.
 * A load that gives undefined or fails is not remembered.
 */
export class BriefCache<V> {
  readonly #entries = new Map<string, { value: Promise<V | undefined>; until: number }>();
  readonly #ttlMs: number;
  readonly #maxEntries: number;

  constructor(options: { ttlMs: number; maxEntries: number }) {
    this.#ttlMs = options.ttlMs;
    this.#maxEntries = options.maxEntries;
  }

  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const known = this.#entries.get(key);
    if (known && known.until > performance.now()) return known.value;
    // Entries are in order of insertion: the first is the oldest.
    this.#entries.delete(key);
    if (this.#entries.size >= this.#maxEntries) this.#entries.delete(this.#entries.keys().next().value as string);
    const entry = { value: load(), until: performance.now() + this.#ttlMs };
    this.#entries.set(key, entry);
    const forget = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    entry.value.then((value) => value === undefined && forget(), forget);
    return entry.value;
  }

  clear(): void {
    this.#entries.clear();
  }
}
