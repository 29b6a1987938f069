import { processorTime } from '../shared/childProcesses/processorTime.ts';

/** User and system time of a process with all its threads, in ticks of 10 ms: what is measured takes some hundred of them. */
export const cpuSeconds = (pid: number): number => (processorTime(pid)?.usedMs ?? Number.NaN) / 1_000;

/** Waits until the process has used less than a twentieth of a core for half a second. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid), used = 1; used > 0.025; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    used = cpuSeconds(pid) - before;
    before += used;
  }
}
