import type { DeletionStore } from './projectStore.ts';
import type { DeleteRecords } from './runs.ts';

export interface DeletionDeps {
  deletions: DeletionStore;
  deleteRecords: DeleteRecords;
  newId: () => string;
  /** Drops what is remembered of projects and runs. */
  forget(): void;
}

/** Milliseconds after which no request that was let in before a deletion is still writing. */
const SETTLE_MS = 60_000;

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
  { deletions, deleteRecords }: Pick<DeletionDeps, 'deletions' | 'deleteRecords'>,
  settleMs = SETTLE_MS,
): Promise<void> {
  const settled = Date.now() - settleMs;
  for (const { id, projectId, runId, requestedAt } of await deletions.pendingDeletions()) {
    await deleteRecords(projectId, runId);
    if (requestedAt.getTime() <= settled) await deletions.recordsDeleted(id);
  }
}
