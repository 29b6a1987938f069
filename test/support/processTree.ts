import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';

export interface ProcessLine {
  pid: number;
  parent: number;
  command: string;
}

async function everyProcess(): Promise<ProcessLine[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,command='], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (!pid || !parent || !command || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

/** A process and all that it has started, directly or not. */
export async function processTree(root: number): Promise<ProcessLine[]> {
  const all = await everyProcess();
  const tree = all.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Those of the processes that still run. */
export async function stillRunning(processes: readonly ProcessLine[]): Promise<ProcessLine[]> {
  const now = new Map((await everyProcess()).map(({ pid, command }) => [pid, command]));
  return processes.filter(({ pid, command }) => now.get(pid) === command);
}

/** Waits until all of the processes are gone. @returns after how many milliseconds */
export async function untilGone(processes: readonly ProcessLine[]): Promise<number> {
  const started = performance.now();
  // Not a poll of expect's, which works in tests alone and not in their hooks. Each look starts a process.
  await vi.waitFor(async () => expect(await stillRunning(processes)).toEqual([]), { timeout: 60_000, interval: 200 });
  return Math.round(performance.now() - started);
}
