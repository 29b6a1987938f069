import type { RunRef } from '../projects/runs.ts';
import type { Lock } from './recordStore.ts';

/** The name of the lock of a run. */
export const lockOf = ({ projectId, runId }: RunRef): string => `records/${projectId}/${runId}`;
/** Every write shares it; who has it to itself knows that nothing is written to the project. */
export const lockOfProject = ({ projectId }: Pick<RunRef, 'projectId'>): string => `records/${projectId}`;

/** Rows of an experiment that share a lock: about as many as are written together, so that a group has few locks. */
const ROWS_PER_LOCK = 250;

export const sharedLock = (name: string): Lock => ({ name, shared: true });
export const ownLock = (name: string): Lock => ({ name, shared: false });

/**
 * What a group holds while it is written: its projects, its runs, its rows, in this order and each by name, as everybody takes them. A record is
 * settled on top of what is stored of it, so its run is this process's alone; but a row has records of its own, and its lock keeps off a
 * worker that was taken for dead and still writes it.
 */
export function locksOf(group: readonly { run: RunRef; ordinals?: readonly number[] | undefined }[]): Lock[] {
  const projects = new Set(group.map(({ run }) => lockOfProject(run)));
  const wholeRuns = new Set(group.filter(({ ordinals }) => ordinals === undefined).map(({ run }) => lockOf(run)));
  const runs = new Set(group.map(({ run }) => lockOf(run)));
  const rows = new Set<string>();
  for (const { run, ordinals = [] } of group)
    if (!wholeRuns.has(lockOf(run)))
      for (const ordinal of ordinals) rows.add(`${lockOf(run)}/rows/${Math.floor(ordinal / ROWS_PER_LOCK)}`);
  return [
    ...[...projects].sort().map(sharedLock),
    ...[...runs].sort().map((name) => ({ name, shared: !wholeRuns.has(name) })),
    ...[...rows].sort().map(ownLock),
  ];
}
