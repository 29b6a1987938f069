import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { newId } from '../identifiers/ids.ts';
import { MINUTE_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import { createProjectAccess, type ProjectAccess } from './access.ts';
import { type DeletionDeps, deleteWithRecords, finishProjectDeletions } from './deletions.ts';
import { type FirstLog, openFirstLog } from './firstLog.ts';
import { createIngestLookup, type IngestLookup, type OpenMetricsTesting } from './openRun.ts';
import type { DeletionStore, LogStreamStore, ProjectStore } from './projectStore.ts';
import { type Expiries, unexpired, unexpiredNewest } from './retention.ts';
import {
  createRunLookup,
  type DeleteRecords,
  type NewestRecords,
  type RunCounts,
  type RunLookup,
  type RunLookups,
} from './runs.ts';

export interface ProjectDeps {
  projects: ProjectStore & DeletionStore;
  logStreams: LogStreamStore;
  expiries: Expiries;
  openMetricsTesting: OpenMetricsTesting;
  deleteRecords: DeleteRecords;
  stillStored: DeletionDeps['stillStored'];
  runCounts: RunCounts;
  newestRecords: NewestRecords;
  /** Drops what is remembered of who may see which project. */
  forgetCallers(): void;
  /** The things that logs may make when they name something absent. */
  firstLogMakes: Config['FIRST_LOG_MAKES'];
  log: Pick<Logger, 'info'>;
}

export interface Projects {
  projects: ProjectStore;
  logStreams: LogStreamStore;
  access: ProjectAccess;
  firstLog: FirstLog;
  runs: RunLookups;
  findRun: RunLookup;
  /** As `findRun`, without what has expired in the run. */
  findUnexpiredRun: RunLookup;
  ingestRun: IngestLookup;
  /** Counts of the records of runs that have not expired. */
  runCounts: RunCounts;
  /** When the newest records of projects were made that have not expired. */
  newestRecords: NewestRecords;
  /** Dependencies of the routes that delete a project or a run. */
  deletion: DeletionDeps;
  deleteRun(projectId: string, runId: string): Promise<boolean>;
  jobs: RecurringJob[];
}

/** Projects, their runs, who may see them, and their deletion. */
export function openProjects(deps: ProjectDeps): Projects {
  const { projects, logStreams, deleteRecords } = deps;
  const access = createProjectAccess(projects);
  const lookup = createRunLookup(logStreams);
  const deletion: DeletionDeps = {
    deletions: projects,
    deleteRecords,
    stillStored: deps.stillStored,
    newId,
    forget() {
      access.forget();
      lookup.forget();
      deps.forgetCallers();
    },
  };
  return {
    projects,
    logStreams,
    access,
    firstLog: openFirstLog({ projects, logStreams, newId, makes: deps.firstLogMakes, log: deps.log }),
    runs: lookup,
    findRun: lookup.find,
    findUnexpiredRun: unexpired(lookup.find, deps.expiries),
    ingestRun: createIngestLookup(lookup.find, deps.openMetricsTesting),
    runCounts: deps.runCounts,
    newestRecords: unexpiredNewest(deps.newestRecords, deps.expiries),
    deletion,
    deleteRun: (projectId, runId) => deleteWithRecords(deletion, projectId, runId),
    jobs: [
      { name: 'finish-project-deletions', every: 5 * MINUTE_MS, atStart: true, run: () => finishProjectDeletions(deletion) },
    ],
  };
}
