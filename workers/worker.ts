import { DefaultLogger, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { type QueueName, taskQueues } from '../shared/config/taskQueues.ts';
import type { Extensions } from '../shared/datasetExtensions/openExtensions.ts';
import type { RecurringJob } from '../shared/maintenance/recurringJob.ts';
import type { Telemetry } from '../shared/telemetry/telemetry.ts';
import { type ActivityDeps, createActivities } from './activities.ts';
import { createExtensionActivities } from './extensionActivities.ts';
import { createJobActivities } from './jobActivities.ts';
import { createScoringActivities, type ScoringActivityDeps } from './scoringActivities.ts';
import { createSweepActivities, type SweepActivityDeps } from './sweepActivities.ts';
import type { WorkerSettings } from './workerSettings.ts';
import { workflowBundle } from './workflowBundle.ts';

export interface WorkerDeps extends ActivityDeps {
  sweeps: SweepActivityDeps;
  scoring: ScoringActivityDeps;
  extensions: Pick<Extensions, 'step'>;
  jobs: readonly RecurringJob[];
}

export interface RunningWorker {
  /** Rejects when the worker of any queue breaks; resolves after `stop`. */
  finished: Promise<void>;
  stop(): Promise<void>;
}

/** How the SDK's native core begins the line about a workflow task that it fails; there is no event for that. */
const TASK_FAILED = 'Failing workflow task';

/** The SDK's own words go where ours go; its chatter about a worker's states is for debugging. */
export function logTemporalTo(log: Logger, telemetry: Pick<Telemetry, 'add'>): void {
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  const logger = new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { error, ...rest } = meta ?? {};
    if (message.startsWith(TASK_FAILED)) telemetry.add('assay_workflow_task_failures_total', 1, {});
    // Only the worker of the control queue has workflows, as it should be.
    const isAsMeant = message.startsWith('No workflows registered');
    log[isAsMeant ? 'debug' : levels[level]]({ ...rest, ...(error === undefined ? {} : { err: error }) }, message);
  });
  Runtime.install({ logger, telemetryOptions: { logging: { forward: {} } } });
}

/**
 * Starts what runs experiments, scores records and does what recurs: one Temporal worker for each task queue that this process serves,
 * that of the control queue with the workflow code.
 */
export async function startWorker(
  connection: NativeConnection,
  settings: WorkerSettings,
  deps: WorkerDeps,
): Promise<RunningWorker> {
  const ending = new AbortController();
  const experiments = createActivities(deps, ending.signal);
  const scoring = createScoringActivities(deps.scoring, ending.signal);
  const extensions = createExtensionActivities({ ...deps, step: deps.extensions.step }, ending.signal);
  const maintenance = { ...createSweepActivities(deps.sweeps), ...createJobActivities(deps.jobs, deps.log, ending.signal) };
  const activities: Record<QueueName, object> = {
    // All of them: workflows of former releases, and workers of such a release that decide for them, have everything done here.
    control: { ...experiments, ...scoring, ...extensions, ...maintenance },
    // The scores of an experiment do not wait for those of log streams.
    rows: { runRows: experiments.runRows, ...scoring, ...extensions },
    scoring,
    maintenance,
  };
  const { slots, pollers, deployment } = settings;
  const polls = (maximum: number) => ({ type: 'simple-maximum', maximum }) as const;
  const workers = await Promise.all(
    settings.queues.map(async (queue) =>
      Worker.create({
        connection,
        namespace: settings.namespace,
        taskQueue: taskQueues[queue],
        activities: activities[queue],
        maxConcurrentActivityTaskExecutions: slots[queue],
        // The SDK heeds this option, not `maxConcurrentActivityTaskPolls`.
        activityTaskPollerBehavior: polls(pollers[queue]),
        ...(queue === 'control' && {
          workflowBundle: await workflowBundle(),
          maxConcurrentWorkflowTaskExecutions: slots.workflows,
          workflowTaskPollerBehavior: polls(pollers.workflows),
        }),
        ...(deployment && {
          workerDeploymentOptions: {
            useWorkerVersioning: true,
            version: { deploymentName: deployment.name, buildId: deployment.buildId },
            // Open runs go on under the version that is current: none waits for a build that is gone.
            defaultVersioningBehavior: 'AUTO_UPGRADE',
          },
        }),
        // A cancel must reach the calls within about two seconds: it travels on the answer to a heartbeat.
        maxHeartbeatThrottleInterval: '1 second',
        defaultHeartbeatThrottleInterval: '1 second',
        shutdownGraceTime: '500 ms',
        shutdownForceTime: '15 seconds',
      }),
    ),
  );
  const runs = workers.map((worker) => worker.run());
  const ended = Promise.allSettled(runs);
  return {
    finished: Promise.all(runs).then(() => undefined),
    stop: async () => {
      ending.abort();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended; // it never rejects: errors reach the caller that waits for `finished`
    },
  };
}
