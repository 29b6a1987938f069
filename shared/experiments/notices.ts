import type { Notices } from './callerRows.ts';

/** Notices within one process. */
export function inProcessNotices(): Notices {
  const waiting = new Map<string, Set<() => void>>();
  return {
    notify(experimentId) {
      for (const wake of waiting.get(experimentId) ?? []) wake();
    },
    wait: (experimentId, ms, signal) =>
      new Promise((resolve) => {
        const those = waiting.get(experimentId) ?? new Set();
        waiting.set(experimentId, those);
        const wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          those.delete(wake);
          if (those.size === 0 && waiting.get(experimentId) === those) waiting.delete(experimentId);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        those.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted) wake();
      }),
  };
}
