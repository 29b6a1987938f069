import { proxyActivities } from '@temporalio/workflow';
import { taskQueues } from '../shared/config/taskQueues.ts';
import type { ExtendInput } from '../shared/datasetExtensions/workflow.ts';
import type { ExtensionActivities } from '../workers/extensionActivities.ts';

const { extendDatasetOnce } = proxyActivities<ExtensionActivities>({
  taskQueue: taskQueues.rows,
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** Has a model fill a dataset, one answer after the other. A dataset has at most 1,000 rows asked for, ten an answer. */
export async function extendDataset(input: ExtendInput): Promise<void> {
  while (!(await extendDatasetOnce(input)));
}
