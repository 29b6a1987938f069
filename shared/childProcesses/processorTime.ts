import { readFileSync } from 'node:fs';

/** Linux counts in ticks of 10 ms (`getconf CLK_TCK`). */
const TICK_MS = 10;

export interface ProcessorTime {
  /** Milliseconds that it has used, user and system, with all its threads. */
  usedMs: number;
  /** Its first thread uses a processor or waits for one: it does not sleep. */
  isRunnable: boolean;
}

/** @returns undefined where the process is gone, or the system has no /proc */
export function processorTime(pid: number): ProcessorTime | undefined {
  try {
    // man proc_pid_stat: the second field is the name in parentheses, which may hold spaces; the state is field 3, the times fields 14 and 15.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { usedMs: (Number(fields[14 - 3]) + Number(fields[15 - 3])) * TICK_MS, isRunnable: fields[0] === 'R' };
  } catch {
    return undefined;
  }
}
