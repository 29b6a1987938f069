import type { Client } from '@temporalio/client';
import { type QueueName, queueNames, taskQueues } from '../../config/taskQueues.ts';

const PATIENCE_MS = 2_000;
/** `TASK_QUEUE_TYPE_ACTIVITY` of temporal.api.enums.v1. */
const ACTIVITIES = 2;
/** The server answers a poll after a minute at the latest: a worker that has not polled for longer is gone. */
const POLLER_GONE_MS = 70_000;

/** Worker processes that take activities of a queue, as Temporal knows them. */
export async function workersOf(client: Client, queue: QueueName): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueues[queue] },
    taskQueueType: ACTIVITIES,
  });
  const now = Date.now();
  const present = (pollers ?? []).filter(
    ({ lastAccessTime }) => now - Number(lastAccessTime?.seconds ?? 0) * 1_000 < POLLER_GONE_MS,
  );
  return new Set(present.map(({ identity }) => identity)).size;
}

/** The same of every queue; null where Temporal does not answer in time. */
export const queueWorkers = (client: Client) => (): Promise<[QueueName, number | null][]> =>
  Promise.all(
    queueNames.map(async (queue): Promise<[QueueName, number | null]> => {
      const asked = client.withDeadline(Date.now() + PATIENCE_MS, () => workersOf(client, queue));
      return [queue, await asked.catch(() => null)];
    }),
  );
