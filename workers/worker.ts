import { DefaultLogger, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { EXPERIMENT_QUEUE } from '../shared/experiments/workflow.ts';
import { type ActivityDeps, createActivities } from './activities.ts';
import { createScoringActivities, type ScoringActivityDeps } from './scoringActivities.ts';
import { createSweepActivities, type SweepActivityDeps } from './sweepActivities.ts';
import { workflowBundle } from './workflowBundle.ts';

export interface WorkerDeps extends ActivityDeps {
  sweeps: SweepActivityDeps;
  scoring: ScoringActivityDeps & ActivityDeps['scoring'];
}

export interface RunningWorker {
  /** Rejects when the worker breaks; resolves after `stop`. */
  finished: Promise<void>;
  stop(): Promise<void>;
}

/** The SDK's own words go where ours go; its chatter about a worker's states is for debugging. */
export function logTemporalTo(log: Logger): void {
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  const logger = new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { error, ...rest } = meta ?? {};
    log[levels[level]]({ ...rest, ...(error === undefined ? {} : { err: error }) }, message);
  });
  Runtime.install({ logger });
}

/** Starts the worker that runs experiments, scores records and sweeps away what has expired: workflow code and activities, on one task queue. */
export async function startWorker(connection: NativeConnection, namespace: string, deps: WorkerDeps): Promise<RunningWorker> {
  const ending = new AbortController();
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: EXPERIMENT_QUEUE,
    workflowBundle: await workflowBundle(),
    activities: {
      ...createActivities(deps, ending.signal),
      ...createScoringActivities(deps.scoring, ending.signal),
      ...createSweepActivities(deps.sweeps),
    },
    // A chunk holds its slot for minutes; a run that waits for its caller gives it back.
    maxConcurrentActivityTaskExecutions: 200,
    // One poll: with more, the worker that polled first is given all chunks of a run while the others stand idle. (The SDK heeds this option,
    // not `maxConcurrentActivityTaskPolls`.)
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
    // A cancel must reach the calls within about two seconds: it travels on the answer to a heartbeat.
    maxHeartbeatThrottleInterval: '1 second',
    defaultHeartbeatThrottleInterval: '1 second',
    shutdownGraceTime: '500 ms',
    shutdownForceTime: '15 seconds',
  });
  const finished = worker.run();
  return {
    finished,
    stop: async () => {
      ending.abort();
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await finished.catch(() => undefined); // whoever watches `finished` hears of it
    },
  };
}
