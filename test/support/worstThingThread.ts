import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Neighbour, Scale, WorstThing } from './worstThings.ts';

/**
 * Prepares a thing in a thread of its own, so that what it does to this process is not felt by the callers in it.
 * @returns what does it for some milliseconds, and gives the statuses of what was answered (0 without an answer)
 */
export async function prepareInThread(
  { name }: WorstThing,
  caller: Neighbour,
  scale: Scale,
): Promise<(ms: number) => Promise<number[]>> {
  const thread = new Worker(new URL('./worstThing.thread.ts', import.meta.url), { workerData: { name, caller, scale } });
  await once(thread, 'message');
  return async (ms) => {
    const ended = once(thread, 'message');
    thread.postMessage('begin');
    await pause(ms);
    thread.postMessage('end');
    const [statuses] = (await ended) as [number[]];
    await thread.terminate();
    return statuses;
  };
}
