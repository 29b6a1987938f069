import { Worker } from 'node:worker_threads';

/**
 * Kills this process once its parent has gone, from a thread of its own: neither an event loop that is held nor an exit that waits for a
 * statement in the engine keeps it alive.
 * @param lookMs milliseconds between two looks at the parent
 * @param graceMs milliseconds that the process has for an end of its own
 */
export function dieWithParent({ lookMs, graceMs }: { lookMs: number; graceMs: number }): void {
  const source = `
    const looking = setInterval(() => {
      if (process.ppid === ${process.ppid}) return;
      clearInterval(looking);
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${graceMs});
    }, ${lookMs});`;
  new Worker(source, { eval: true }).unref();
}
