import { LRUCache } from 'lru-cache';

/**
 * Remembers what was loaded for a moment, so that questions asked on every request cost one load a second. Loads of one key under way are
 * shared. `clear` holds at once in this process: a load that began before it is handed to those who wait for it, but not remembered.
 * A load that gives undefined or fails is not remembered.
 */
export class BriefCache<V> {
  readonly #loads: LRUCache<string, Promise<V | undefined>>;
  #clears = 0;

  constructor(options: { ttlMs: number; maxEntries: number }) {
    // Otherwise it reads the clock again only after a timer of a millisecond, which fires late in a busy process.
    const clock = { ttlResolution: 0, perf: { now: () => performance.now() } };
    this.#loads = new LRUCache({ max: options.maxEntries, ttl: options.ttlMs, ...clock });
  }

  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const known = this.#loads.get(key);
    if (known) return known;
    const loaded = load();
    this.#loads.set(key, loaded);
    const forget = () => {
      if (this.#loads.peek(key) === loaded) this.#loads.delete(key);
    };
    loaded.then((value) => value === undefined && forget(), forget);
    return loaded;
  }

  /** For a value that is about to be loaded beside others: takes it when it is there, and remembers it unless `clear` was called meanwhile. */
  expect(): (key: string, value: V) => void {
    const clears = this.#clears;
    return (key, value) => {
      if (this.#clears === clears) this.#loads.set(key, Promise.resolve(value));
    };
  }

  clear(): void {
    this.#clears++;
    this.#loads.clear();
  }
}
