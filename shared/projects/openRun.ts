import { ServiceError } from '../errors/errors.ts';
import type { RunIds, RunLookup, RunRef } from './runs.ts';

/** Opens a metrics-testing run in a project, unless it is open. False where the id is another run's. */
export type OpenMetricsTesting = (projectId: string, runId: string, openedBy: string) => Promise<boolean>;

/**
 * Finds the run that an ingest names, as {@link RunLookup} does, except that a metrics-testing run is opened by the first ingest with its id.
 */
export type IngestLookup = (projectId: string, ids: RunIds, openedBy: string) => Promise<RunRef>;

export const createIngestLookup =
  (find: RunLookup, open: OpenMetricsTesting): IngestLookup =>
  async (projectId, ids, openedBy) => {
    try {
      return await find(projectId, ids);
    } catch (err) {
      const runId = ids.metrics_testing_id?.toLowerCase();
      if (!(err instanceof ServiceError) || err.code !== 'RunNotFound' || !runId) throw err;
      if (await open(projectId, runId, openedBy)) return { projectId, runId };
      throw err;
    }
  };
