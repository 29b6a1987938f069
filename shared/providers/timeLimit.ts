import { onAbort } from '../onAbort.ts';

export type TimeLimit = ReturnType<typeof timeLimit>;

/** A signal that aborts with the caller's or after the time limit, and a race against it for work that does not watch it. */
export function timeLimit(outer: AbortSignal, ms: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('time limit', 'TimeoutError')), ms);
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
    clear: () => {
      clearTimeout(timer);
      forget();
    },
  };
}
