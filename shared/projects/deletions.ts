import type { DeletionStore, PendingDeletion } from './projectStore.ts';
import type { DeleteRecords } from './runs.ts';

export interface DeletionDeps {
  deletions: DeletionStore;
  deleteRecords: DeleteRecords;
  newId: () => string;
  /** Drops what is remembered of projects and runs. */
  forget(): void;
}

/**
 * Deletes a project, or one run of it, with its records. The metadata goes first, so that nothing is added while the records go; when deleting
 * records fails, `finishDeletions` does it later.
 * @returns false when there is no such project or run.
 */
export async function deleteWithRecords(deps: DeletionDeps, projectId: string, runId?: string): Promise<boolean> {
  const pending = await deps.deletions.removeMetadata(deps.newId(), projectId, runId);
  if (!pending) return false;
  deps.forget();
  await finish(deps, pending);
  return true;
}

/** Finishes deletions that a crash or an unreachable store cut off: call at start and from time to time. Safe to repeat. */
export async function finishDeletions(deps: Pick<DeletionDeps, 'deletions' | 'deleteRecords'>): Promise<void> {
  for (const pending of await deps.deletions.pendingDeletions()) await finish(deps, pending);
}

async function finish(deps: Pick<DeletionDeps, 'deletions' | 'deleteRecords'>, pending: PendingDeletion): Promise<void> {
  await deps.deleteRecords(pending.projectId, pending.runId);
  await deps.deletions.recordsDeleted(pending.id);
}
