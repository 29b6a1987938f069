import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { JobInput } from '../shared/maintenance/jobWorkflow.ts';
import type { RecurringJob } from '../shared/maintenance/recurringJob.ts';
import { beating } from './activities.ts';

/**
 * Creates the activities of the workflow of recurring jobs. Histories have the names of these methods, their inputs and their answers: see docs/deploys.md.
 * @param ending aborts when the worker ends
 */
export function createJobActivities(jobs: readonly RecurringJob[], log: Pick<Logger, 'warn'>, ending: AbortSignal) {
  const byName = new Map(jobs.map((job) => [job.name, job]));
  return {
    runRecurringJob: ({ name }: JobInput): Promise<void> =>
      beating(async () => {
        const job = byName.get(name);
        // Not for good: a worker of the release that has it may be asked next.
        if (!job) throw new Error(`this worker has no job ${name}`);
        try {
          await job.run(AbortSignal.any([ending, Context.current().cancellationSignal]));
        } catch (err) {
          log.warn({ err, job: name }, 'a recurring job failed; it is tried again');
          throw err;
        }
      }),
  };
}
export type JobActivities = ReturnType<typeof createJobActivities>;
