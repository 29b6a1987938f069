import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { taskQueues } from '../../config/taskQueues.ts';
import { SWEEP_EXPIRED, SWEEP_SCHEDULE } from '../../records/sweepWorkflow.ts';

/** Has expired records swept every day. Any process may ask for it at any time: the schedule is made once, and one that was changed by hand stays. */
export async function scheduleSweeps(client: Client): Promise<void> {
  await client.schedule
    .create({
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
    })
    .catch((err: unknown) => {
      if (!(err instanceof ScheduleAlreadyRunning)) throw err;
    });
}
