import { readFile } from 'node:fs/promises';
import { processTree } from '../test/support/processTree.ts';

export interface TreeMemory {
  /** Each page of memory that processes share counts once, in MiB. */
  pss: number;
  /** Shared pages count in every process, in MiB. */
  rss: number;
}

/** Memory of a process with all that it has started. What ends meanwhile counts as nothing. */
export async function treeMemory(pid: number): Promise<TreeMemory> {
  const each = await Promise.all(
    (await processTree(pid)).map((one) => readFile(`/proc/${one.pid}/smaps_rollup`, 'utf8').catch(() => '')),
  );
  const sum = (field: string) =>
    each.reduce((total, text) => total + Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0), 0) / 1024;
  return { pss: sum('Pss'), rss: sum('Rss') };
}
