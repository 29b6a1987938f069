import type { Config, TaskKind } from '../shared/config/config.ts';
import type { QueueName } from '../shared/config/taskQueues.ts';

export interface WorkerSettings {
  namespace: string;
  /** The queues that this process takes work from. Workflow tasks are on the control queue. */
  queues: readonly QueueName[];
  /** Tasks at a time. */
  slots: Readonly<Record<TaskKind, number>>;
  /** Polls at a time. */
  pollers: Readonly<Record<TaskKind, number>>;
  /** Temporal's worker versioning; undefined: this worker takes the work of every build. */
  deployment: { name: string; buildId: string } | undefined;
}

/** A chunk of rows holds its slot for minutes; a run that waits for its caller gives it back. A pass of scoring holds up to 250 records in memory. */
const slots: WorkerSettings['slots'] = { workflows: 40, control: 200, rows: 200, scoring: 50, maintenance: 10 };

/**
 * Chunks of rows come by one poll: with more, the worker that polled first is given all chunks of a run while the others stand idle. A worker that stands
 * still is given a task for each of its polls all the same, and each waits 10 s before another has it: of 5 polls for workflows one takes new tasks.
 */
const pollers: WorkerSettings['pollers'] = { workflows: 5, control: 1, rows: 1, scoring: 2, maintenance: 1 };

export function workerSettings(config: Config): WorkerSettings {
  const { TEMPORAL_DEPLOYMENT_NAME: name, TEMPORAL_BUILD_ID: buildId } = config;
  return {
    namespace: config.TEMPORAL_NAMESPACE,
    queues: config.WORKER_QUEUES,
    slots: { ...slots, ...config.WORKER_SLOTS },
    pollers: { ...pollers, ...config.WORKER_POLLERS },
    deployment: name !== undefined && buildId !== undefined ? { name, buildId } : undefined,
  };
}
