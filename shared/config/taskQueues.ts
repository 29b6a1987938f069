/**
 * The task queues of Temporal, by what is done on them, so that none waits for the slots of another. Names are in histories and on servers: a name
 * that was released stays.
 */
export const taskQueues = {
  /** Workflow tasks, and what a run does between its rows: plan, finish, pause notes. Workflows of former releases have all their activities here. */
  control: 'assay-experiments',
  /** The work of experiments: their rows and their scores. */
  rows: 'assay-rows',
  /** Scores of log streams. */
  scoring: 'assay-scoring',
  /** Sweeps, and other work that recurs. */
  maintenance: 'assay-maintenance',
} as const;

export type QueueName = keyof typeof taskQueues;

export const queueNames = Object.keys(taskQueues) as readonly QueueName[];
