import { proxyActivities } from '@temporalio/workflow';
import { taskQueues } from '../shared/config/taskQueues.ts';
import type { JobInput } from '../shared/maintenance/jobWorkflow.ts';
import type { JobActivities } from '../workers/jobActivities.ts';

const activities = proxyActivities<JobActivities>({
  taskQueue: taskQueues.maintenance,
  startToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  // A job that keeps failing is left to its next time.
  retry: { initialInterval: '1 second', maximumInterval: '1 minute', maximumAttempts: 10 },
});

/** Runs one recurring job once. Its schedule says when. */
export async function runJob(input: JobInput): Promise<void> {
  await activities.runRecurringJob(input);
}
