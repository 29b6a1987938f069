import type { DatasetDeps } from './createDataset.ts';

/**
 * Deletes rows that nothing can reach any more: of datasets deleted before `before` (ISO 8601) that no experiment names, and of runs that are gone.
 * The rows go first, so that what a crash interrupts is found again by the next sweep.
 */
export async function purgeUnusedRows(deps: DatasetDeps, before: string): Promise<{ datasets: number; runs: number }> {
  const { datasetIds, runs } = await deps.datasets.unused(before);
  for (const id of datasetIds) {
    await deps.rows.deleteOwner(id);
    await deps.datasets.forgetDataset(id);
  }
  for (const { runId, storageId } of runs) {
    await deps.rows.deleteOwner(storageId);
    await deps.datasets.forgetRunRows(runId);
  }
  return { datasets: datasetIds.length, runs: runs.length };
}
