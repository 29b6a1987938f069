import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { together } from '../../concurrency/together.ts';
import { taskQueues } from '../../config/taskQueues.ts';
import { JOB_SCHEDULE_PREFIX, jobScheduleId, RUN_JOB } from '../../maintenance/jobWorkflow.ts';
import type { RecurringJob } from '../../maintenance/recurringJob.ts';
import { SWEEP_EXPIRED, SWEEP_SCHEDULE } from '../../records/sweepWorkflow.ts';

/** Missed times of up to so long ago are made up for by one run. */
const CATCH_UP = '1 hour';

/** Describes the schedule of a job without its state: a pause by hand stays. */
const scheduleOf = ({ name, every }: RecurringJob) => ({
  spec: { intervals: [{ every }] },
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP } as const,
  action: {
    type: 'startWorkflow' as const,
    workflowType: RUN_JOB,
    taskQueue: taskQueues.control,
    args: [{ name }],
    workflowId: jobScheduleId(name),
  },
});

const agrees = ({ spec, action }: ScheduleDescription, { every }: RecurringJob): boolean =>
  spec.intervals?.length === 1 &&
  spec.intervals[0]?.every === every &&
  action.workflowType === RUN_JOB &&
  action.taskQueue === taskQueues.control;

async function jobScheduleIds(client: Client): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const { scheduleId } of client.schedule.list()) if (scheduleId.startsWith(JOB_SCHEDULE_PREFIX)) ids.add(scheduleId);
  return ids;
}

/** Creates the schedules that are not there. Safe in any number of processes, to be repeated: the server may have been replaced by an empty one. */
export async function createJobSchedules(client: Client, jobs: readonly RecurringJob[]): Promise<void> {
  const known = await jobScheduleIds(client);
  await together(
    jobs.map(async (job) => {
      const scheduleId = jobScheduleId(job.name);
      if (!known.has(scheduleId)) await createOnce(client, { scheduleId, ...scheduleOf(job) });
    }),
  );
}

async function createOnce(client: Client, schedule: ScheduleOptions): Promise<void> {
  await client.schedule.create(schedule).catch((err: unknown) => {
    if (!(err instanceof ScheduleAlreadyRunning)) throw err;
  });
}

/** As `createJobSchedules`; besides, schedules get the intervals of their jobs, and those of jobs that are no more are deleted. For the start. */
export async function agreeJobSchedules(client: Client, jobs: readonly RecurringJob[]): Promise<void> {
  await createJobSchedules(client, jobs);
  const surplus = await jobScheduleIds(client);
  for (const { name } of jobs) surplus.delete(jobScheduleId(name));
  await together(
    jobs.map(async (job) => {
      const handle = client.schedule.getHandle(jobScheduleId(job.name));
      if (!agrees(await handle.describe(), job)) await handle.update((found) => ({ ...found, ...scheduleOf(job) }));
    }),
  );
  for (const scheduleId of surplus) {
    await client.schedule
      .getHandle(scheduleId)
      .delete()
      .catch((err: unknown) => {
        if (!(err instanceof ScheduleNotFoundError)) throw err; // another process was quicker
      });
  }
}

/** Runs those jobs now that are run at each start, unless they run already. */
export async function startJobs(client: Client, jobs: readonly RecurringJob[]): Promise<void> {
  for (const { name, atStart } of jobs)
    if (atStart) await client.schedule.getHandle(jobScheduleId(name)).trigger(ScheduleOverlapPolicy.SKIP);
}

/** Has expired records swept every day. Any process may ask for it at any time: the schedule is made once, and one that was changed by hand stays. */
export async function scheduleSweeps(client: Client): Promise<void> {
  await createOnce(client, {
    scheduleId: SWEEP_SCHEDULE,
    spec: { intervals: [{ every: '24 hours', offset: '3 hours' }] },
    // A sweep that takes longer than a day is not joined by a second one; one that was missed, as nothing ran, is made up for.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' },
    action: {
      type: 'startWorkflow',
      workflowType: SWEEP_EXPIRED,
      taskQueue: taskQueues.control,
      args: [{}],
      workflowId: SWEEP_EXPIRED,
    },
  });
}
