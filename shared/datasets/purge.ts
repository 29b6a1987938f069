import type { DatasetDeps } from './createDataset.ts';

/**
 * Deletes rows that nothing can reach any more: of datasets deleted before `before` (ISO 8601) that no experiment names, of runs that are gone, and
 * lists of chosen rows that no experiment names.
 * The rows go first, so that what a crash interrupts is found again by the next sweep.
 */
export async function purgeUnusedRows(deps: DatasetDeps, before: string): Promise<{ datasets: number; runs: number }> {
  const { datasetIds, runs, selections } = await deps.datasets.unused(before);
  for (const id of datasetIds) {
    await deps.rows.deleteOwner(id);
    await deps.datasets.forgetDataset(id);
  }
  for (const { runId, storageId } of runs) {
    await deps.rows.deleteOwner(storageId);
    await deps.datasets.forgetRunRows(runId);
  }
  for (const storageId of selections) await forgetSelection(deps, storageId);
  return { datasets: datasetIds.length, runs: runs.length };
}

/** Deletes a list of chosen rows. */
export async function forgetSelection({ rows, datasets }: DatasetDeps, storageId: string): Promise<void> {
  await rows.deleteOwner(storageId);
  await datasets.forgetSelection(storageId);
}
