import { onAbort } from '../concurrency/onAbort.ts';

export type TimeLimit = ReturnType<typeof timeLimit>;

/** A signal that aborts with the caller's or after the time limit, and a race against it for work that does not watch it. */
export function timeLimit(outer: AbortSignal, ms: number) {
  const controller = new AbortController();
  const start = () => setTimeout(() => controller.abort(new DOMException('time limit', 'TimeoutError')), leftMs);
  let leftMs = ms;
  let timer = start();
  let workingSince = performance.now();
  let waitedMs = 0;
  const forget = onAbort(outer, () => controller.abort(outer.reason));
  return {
    signal: controller.signal,
    race: <T>(work: Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        const stop = () => reject(controller.signal.reason);
        controller.signal.addEventListener('abort', stop, { once: true });
        if (controller.signal.aborted) stop();
        work.then(resolve, reject).finally(() => controller.signal.removeEventListener('abort', stop));
      }),
    /** The time of `work` does not count. Not for two at a time. */
    suspend: async <T>(work: () => Promise<T>): Promise<T> => {
      const since = performance.now();
      clearTimeout(timer);
      leftMs -= since - workingSince;
      try {
        return await work();
      } finally {
        workingSince = performance.now();
        waitedMs += workingSince - since;
        timer = start();
      }
    },
    /** Milliseconds that did not count. */
    waitedMs: () => waitedMs,
    clear: () => {
      clearTimeout(timer);
      forget();
    },
  };
}
