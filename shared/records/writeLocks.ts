import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { HeldLocks, Lock } from './recordStore.ts';

/** Another process has one of the locks. */
export class LocksTaken extends ServiceError {
  constructor(cause?: unknown) {
    super('Unavailable', 'another process is writing the same records: send this again later', { retryAfterSeconds: 2, cause });
  }
}

/** The locks were lost while they were needed: another process may have written meanwhile. */
export class LocksLost extends ServiceError {
  constructor(cause?: unknown) {
    super(
      'Unavailable',
      'this process stood still, or lost the metadata store (Postgres), while it was writing: send this again',
      {
        retryAfterSeconds: 1,
        cause,
      },
    );
  }
}

/** Those of the only process that writes. */
export const noLocks: HeldLocks = { refused: new Set(), states: undefined, confirm: async () => {} };

/** The name of the lock of a run. */
export const lockOf = ({ projectId, runId }: RunRef): string => `records/${projectId}/${runId}`;
/** Every write shares it; who has it to itself knows that nothing is written to the project. */
export const lockOfProject = ({ projectId }: Pick<RunRef, 'projectId'>): string => `records/${projectId}`;

/** Rows of an experiment that share a lock: about as many as are written together, so that a group has few locks. */
const ROWS_PER_LOCK = 250;

export const sharedLock = (name: string): Lock => ({ name, shared: true });
export const ownLock = (name: string): Lock => ({ name, shared: false });

/**
 * Returns the locks that a group holds while it is written: of its projects, its runs and its rows, in this order and each sorted by name, so that no
 * two groups wait for each other. A record is merged with its stored version, so its run belongs to one process. A row has records of its own; its
 * lock stops a worker that was taken for dead and still writes the row.
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

/** Returns true when none of the locks that a request needs is among these. */
export const isFree = (request: Parameters<typeof locksOf>[0][number], refused: ReadonlySet<string>): boolean =>
  refused.size === 0 || locksOf([request]).every(({ name }) => !refused.has(name));
