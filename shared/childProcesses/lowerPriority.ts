import { setPriority } from 'node:os';

/** Below what the service itself runs with: code of the operator that computes takes no time from the answers to others. */
export const NICENESS = 10;

export function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS);
  } catch {
    // It has ended already, or the system knows no priorities.
  }
}
