import { readFileSync } from 'node:fs';

/** Linux counts in ticks of 10 ms (`getconf CLK_TCK`). */
const TICK_MS = 10;

export interface ProcessorTime {
  /** Milliseconds that it has used, user and system, with all its threads. */
  usedMs: number;
  /** Its first thread uses a processor or waits for one: it does not sleep. */
  isRunnable: boolean;
}

/**
 * Splits the text of /proc/PID/stat.
 * @returns the fields from the third on, the state: `[n - 3]` is the field n of man proc_pid_stat
 */
export function statFields(stat: string): string[] {
  // The second field is the name in parentheses, which may hold spaces.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** @returns undefined where the process is gone, or the system has no /proc */
export function processorTime(pid: number): ProcessorTime | undefined {
  try {
    const fields = statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return { usedMs: (Number(fields[14 - 3]) + Number(fields[15 - 3])) * TICK_MS, isRunnable: fields[0] === 'R' };
  } catch {
    return undefined;
  }
}
