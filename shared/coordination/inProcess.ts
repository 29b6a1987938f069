import type { Coordination, Progress } from './coordination.ts';

const PROGRESS_MS = 24 * 60 * 60 * 1000;
const MAX_LOGINS = 10_000;

/** Coordination of a service that is one process: plain memory, with the promises of the port. */
export function inProcessCoordination(options: { now?: () => number } = {}): Coordination {
  const now = options.now ?? Date.now;
  return {
    progress: progressBoard(now),
    concurrency: concurrencyLimit(),
    logins: loginCache(now),
    ping: async () => {},
    close: async () => {},
  };
}

function progressBoard(now: () => number): Coordination['progress'] {
  const shown = new Map<string, { progress: Progress; until: number }>();
  const listeners = new Map<string, Set<(progress: Progress) => void>>();
  const dropEnded = () => {
    for (const [id, { until }] of shown) {
      if (until > now()) return; // in order of publishing, so the rest is younger
      shown.delete(id);
    }
  };
  return {
    async publish(experimentId, progress) {
      dropEnded();
      const before = shown.get(experimentId)?.progress;
      if (before && before.updatedAt > progress.updatedAt) return;
      shown.delete(experimentId);
      shown.set(experimentId, { progress: { ...progress }, until: now() + PROGRESS_MS });
      for (const listener of listeners.get(experimentId) ?? []) listener({ ...progress });
    },
    async read(experimentId) {
      dropEnded();
      const entry = shown.get(experimentId);
      return entry && { ...entry.progress };
    },
    async subscribe(experimentId, onProgress) {
      const those = listeners.get(experimentId) ?? new Set();
      listeners.set(experimentId, those.add(onProgress));
      return () => {
        those.delete(onProgress);
        if (those.size === 0 && listeners.get(experimentId) === those) listeners.delete(experimentId);
      };
    },
  };
}

interface Waiter {
  limit: number;
  admit(): void;
}

function concurrencyLimit(): Coordination['concurrency'] {
  const keys = new Map<string, { held: number; waiting: Set<Waiter> }>();
  return {
    async acquire(key, limit, { signal } = {}) {
      signal?.throwIfAborted();
      const state = keys.get(key) ?? { held: 0, waiting: new Set() };
      keys.set(key, state);
      const release = once(() => {
        state.held--;
        for (const waiter of state.waiting) {
          if (state.held >= waiter.limit) break;
          waiter.admit();
        }
        if (state.held === 0 && state.waiting.size === 0) keys.delete(key);
      });
      if (state.held < limit && state.waiting.size === 0) {
        state.held++;
        return release;
      }
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          state.waiting.delete(waiter);
          reject(signal?.reason);
        };
        const waiter: Waiter = {
          limit,
          admit() {
            state.waiting.delete(waiter);
            signal?.removeEventListener('abort', onAbort);
            state.held++;
            resolve(release);
          },
        };
        state.waiting.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}

function loginCache(now: () => number): Coordination['logins'] {
  const entries = new Map<string, { value: string; until: number }>();
  return {
    async get(key) {
      const entry = entries.get(key);
      if (entry && entry.until > now()) return entry.value;
      entries.delete(key);
      return undefined;
    },
    async set(key, value, ttlMs) {
      entries.delete(key);
      entries.set(key, { value, until: now() + ttlMs });
      const [oldest] = entries.keys();
      if (entries.size > MAX_LOGINS && oldest !== undefined) entries.delete(oldest);
    },
  };
}

/** Releasing twice must not free somebody else's slot. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
