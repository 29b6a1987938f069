import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { lowerPriority } from '../../shared/childProcesses/lowerPriority.ts';
import type { Neighbour, Scale, WorstThing } from './worstThings.ts';

/**
 * Prepares a thing in a process of its own with a lower priority than the service's, since the caller would sit on another machine: the time that it takes
 * to send and read is not taken from the service or from the other callers.
 * @returns what does it for some milliseconds, and gives the statuses of what was answered (0 without an answer)
 */
export async function prepareInProcess(
  { name }: WorstThing,
  caller: Neighbour,
  scale: Scale,
): Promise<(ms: number) => Promise<number[]>> {
  const child = fork(new URL('./worstThing.process.ts', import.meta.url), [JSON.stringify({ name, caller, scale })]);
  lowerPriority(child.pid);
  const gone = new AbortController();
  child.once('exit', (code, signal) => gone.abort(new Error(`the process of "${name}" ended (${signal ?? code})`)));
  const said = async () => {
    const [message] = await once(child, 'message', { signal: gone.signal });
    return message;
  };
  await said();
  return async (ms) => {
    const ended = said();
    child.send('begin');
    await pause(ms);
    child.send('end');
    return ended;
  };
}
