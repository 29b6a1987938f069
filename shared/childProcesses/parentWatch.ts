import { Worker } from 'node:worker_threads';

/**
 * Kills this process once its parent has gone, from a thread of its own: neither an event loop that is held nor an exit that waits for a
 * statement in the engine keeps it alive.
 * @param options.lookMs milliseconds between two looks at the parent
 * @param options.graceMs milliseconds that the process has for an end of its own
 * @param options.onGone is called when those begin, unless the event loop is held
 */
export function dieWithParent(options: { lookMs: number; graceMs: number; onGone?: () => void }): void {
  const { lookMs, graceMs, onGone = () => undefined } = options;
  const source = `
    const { parentPort } = require('node:worker_threads');
    const looking = setInterval(() => {
      if (process.ppid === ${process.ppid}) return;
      clearInterval(looking);
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${graceMs});
      parentPort.postMessage('gone');
    }, ${lookMs});`;
  new Worker(source, { eval: true }).once('message', onGone).unref();
}
