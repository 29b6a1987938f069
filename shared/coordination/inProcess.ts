import { type Coordination, PART_MS, type RunWait, type RunWaits } from './coordination.ts';
import { inProcessAttempts } from './inProcessAttempts.ts';
import { inProcessGates } from './inProcessGates.ts';

const MAX_LOGINS = 10_000;

/** Coordination of a service that is one process: plain memory, with the promises of the port. */
export function inProcessCoordination(options: { now?: () => number } = {}): Coordination {
  const now = options.now ?? Date.now;
  return {
    progress: progressBoard(now),
    waits: runWaits(now),
    ...inProcessGates(now),
    logins: loginCache(now),
    attempts: inProcessAttempts(now),
    ping: async () => {},
    close: async () => {},
  };
}

function progressBoard(now: () => number): Coordination['progress'] {
  const runs = new Map<string, Map<string, { rowsRunning: number; until: number }>>();
  return {
    async publish(experimentId, part, rowsRunning) {
      const parts = runs.get(experimentId) ?? new Map();
      if (rowsRunning > 0) parts.set(part, { rowsRunning, until: now() + PART_MS });
      else parts.delete(part);
      if (parts.size > 0) runs.set(experimentId, parts);
      else runs.delete(experimentId);
    },
    async rowsRunning(experimentId) {
      const parts = [...(runs.get(experimentId)?.values() ?? [])];
      return parts.reduce((sum, { rowsRunning, until }) => (until > now() ? sum + rowsRunning : sum), 0);
    },
  };
}

function runWaits(now: () => number): RunWaits {
  const waits = new Map<string, RunWait>();
  return {
    async publish(experimentId, wait) {
      for (const [id, { until }] of waits) if (until <= now()) waits.delete(id);
      waits.set(experimentId, wait);
    },
    async of(experimentId) {
      const wait = waits.get(experimentId);
      return wait && wait.until > now() ? wait : undefined;
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
