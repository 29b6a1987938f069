import { ServiceError } from '../errors/errors.ts';
import { namedRun, type RunIds, type RunLookup, type RunRef } from './runs.ts';

/** Opens a metrics-testing run in a project, unless it is open. False where the id is another run's. */
export type OpenMetricsTesting = (projectId: string, runId: string, openedBy: string) => Promise<boolean>;

/**
 * The run that an ingest names. A metrics-testing run is opened by the first ingest with its id; of the others the writer finds out whether they are
 * there.
 */
export type IngestLookup = (projectId: string, ids: RunIds, openedBy: string) => Promise<RunRef>;

export const createIngestLookup =
  (find: RunLookup, open: OpenMetricsTesting): IngestLookup =>
  async (projectId, ids, openedBy) => {
    const run = namedRun(projectId, ids);
    if (run.kind !== 'metrics_testing') return run;
    try {
      return await find(projectId, ids);
    } catch (err) {
      if (!(err instanceof ServiceError) || err.code !== 'RunNotFound') throw err;
      if (await open(projectId, run.runId, openedBy)) return run;
      throw err;
    }
  };
