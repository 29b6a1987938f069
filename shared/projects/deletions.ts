import type { DeletedWhole, DeletionStore } from './projectStore.ts';
import type { DeleteRecords } from './runs.ts';

export interface DeletionDeps {
  deletions: DeletionStore;
  deleteRecords: DeleteRecords;
  /** Those of which something is stored. */
  stillStored(deleted: readonly DeletedWhole[]): Promise<DeletedWhole[]>;
  newId: () => string;
  /** Drops what is remembered of projects and runs. */
  forget(): void;
}

/** Milliseconds after which no request that was let in before a deletion is still writing. */
const SETTLE_MS = 60_000;
/**
 * Seconds after a deletion for which a write to what was deleted may come to the store: its process stood still while it was on its way, or died. One that
 * comes back later than that says so itself (`ErasureNotes.noteLate`).
 */
const LATE_SECONDS = 24 * 3_600;

/**
 * Deletes a project, or one run of it, with its records. The metadata goes first, so that nothing is added while the records go. What was let in
 * before and writes after is deleted by `finishDeletions`, and so is everything when deleting records fails.
 * @returns false when there is no such project or run.
 */
export async function deleteWithRecords(deps: DeletionDeps, projectId: string, runId?: string): Promise<boolean> {
  const pending = await deps.deletions.removeMetadata(deps.newId(), projectId, runId);
  if (!pending) return false;
  deps.forget();
  await deps.deleteRecords(pending.projectId, pending.runId);
  return true;
}

/**
 * Deletes again what deletions of late may have left, and what a crash or an unreachable store cut off: call at start and from time to time.
 * Safe to repeat.
 */
export async function finishProjectDeletions(
  { deletions, deleteRecords, stillStored }: Pick<DeletionDeps, 'deletions' | 'deleteRecords' | 'stillStored'>,
  settleMs = SETTLE_MS,
): Promise<void> {
  const settled = Date.now() - settleMs;
  for (const { id, projectId, runId, requestedAt } of await deletions.pendingDeletions()) {
    await deleteRecords(projectId, runId);
    if (requestedAt.getTime() <= settled) await deletions.recordsDeleted(id);
  }
  for (const { projectId, runId } of await stillStored(await deletions.deletedOfLate(LATE_SECONDS)))
    await deleteRecords(projectId, runId);
}
