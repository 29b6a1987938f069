import { newId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ScoringStore, Selection } from './scoring.ts';

export interface RequestScoringDeps {
  scorings: Pick<ScoringStore, 'request'>;
  /** Has the run's requests done; fails never, as what is stored is started later. */
  start(runId: string): Promise<void>;
}

/**
 * Stores the request to score records again, with a job for each metric, then has it done.
 * @returns the ids of the jobs; none when no metric was named
 * @throws ServiceError `NotFound` when the run was deleted meanwhile
 */
export async function requestScoring(
  deps: RequestScoringDeps,
  run: RunRef,
  metrics: readonly EnabledMetric[],
  selection: Selection,
  createdBy: string,
): Promise<string[]> {
  if (metrics.length === 0) return [];
  const jobs = metrics.map(({ config }) => ({ id: newId(), config }));
  const { projectId, runId } = run;
  const request = { id: newId(), projectId, runId, scorerIds: metrics.map(({ scorerId }) => scorerId), selection, createdBy };
  await deps.scorings.request(request, jobs);
  await deps.start(runId);
  return jobs.map(({ id }) => id);
}
