import type { ConcurrencyLimit } from '../coordination/coordination.ts';

/** The slots of one run's rows in flight, as one chunk uses them: all chunks of the run share them, in every process. */
export interface RowSlots {
  /** Waits for a slot, and takes it until it is released. @throws the signal's reason */
  take(signal: AbortSignal): Promise<() => void>;
  readonly limit: number;
  /** Takes effect at once, for those that wait as well. */
  setLimit(limit: number): void;
}

export function rowSlots(concurrency: ConcurrencyLimit, experimentId: string, limit: number): RowSlots {
  const key = `run/${experimentId}`;
  let now = limit;
  return {
    get limit() {
      return now;
    },
    take: (signal) => concurrency.acquire(key, () => now, { signal }),
    setLimit(changed) {
      if (changed === now) return;
      now = changed;
      concurrency.changed(key);
    },
  };
}
