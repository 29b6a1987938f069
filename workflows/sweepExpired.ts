import { continueAsNew, isCancellation, log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { taskQueues } from '../shared/config/taskQueues.ts';
import type { SweepInput } from '../shared/records/sweepWorkflow.ts';
import type { SweepActivities } from '../workers/sweepActivities.ts';

const { projectsToSweep, sweepProject } = proxyActivities<SweepActivities>({
  taskQueue: taskQueues.maintenance,
  startToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  // A project that cannot be swept now is left to the next day, so that it holds up no other.
  retry: { initialInterval: '1 second', maximumInterval: '1 minute', maximumAttempts: 10 },
});

const PROJECTS_AT_A_TIME = 100;

/** Deletes expired records, project by project. Reads hide them in any case, so no caller waits for this. */
export async function sweepExpired({ after }: SweepInput = {}): Promise<void> {
  for (let last = after; ; ) {
    const projects = await projectsToSweep({ ...(last === undefined ? {} : { after: last }), limit: PROJECTS_AT_A_TIME });
    for (const projectId of projects) {
      await sweepProject({ projectId }).catch((err: unknown) => {
        if (isCancellation(err)) throw err;
        log.warn('a project could not be swept', { projectId, err });
      });
    }
    last = projects.at(-1);
    if (projects.length < PROJECTS_AT_A_TIME || last === undefined) return;
    if (workflowInfo().continueAsNewSuggested) return continueAsNew<typeof sweepExpired>({ after: last });
  }
}
