import { readFileSync } from 'node:fs';

// Linux counts in ticks of 10 ms; what is measured takes some hundred of them.
const TICKS_PER_SECOND = 100;

/** User and system time of a process with all its threads. */
export function cpuSeconds(pid: number): number {
  // The name in brackets may hold spaces; utime and stime are the 12th and 13th field after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Waits until the process has used less than a twentieth of a core for half a second. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid), used = 1; used > 0.025; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    used = cpuSeconds(pid) - before;
    before += used;
  }
}
