import type { Logger } from 'pino';

/** Repeats `work` every `ms`, never twice at once; what it throws is logged and tried again. @returns stops it, after the one under way */
export function repeat(ms: number, work: () => Promise<unknown>, log: Pick<Logger, 'warn'>, what: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .then(
        () => undefined,
        (err: unknown) => log.warn({ err }, `${what} failed; it is tried again`),
      )
      .finally(() => {
        running = undefined;
      });
  }, ms);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
