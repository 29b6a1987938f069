import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { ServiceError } from '../../errors.ts';
import type { RunWorkflows } from '../../experiments/startRun.ts';
import { progressQuery, RUN_EXPERIMENT, type WorkflowProgress, workflowIdOf } from '../../experiments/workflow.ts';
import type { ScoringWorkflows } from '../../scoring/scoring.ts';
import { moreSignal, SCORE_RUN, type ScoreRunInput, scoringWorkflowId } from '../../scoring/workflow.ts';
import { taskQueues } from '../../taskQueues.ts';

/** Milliseconds after which Temporal counts as not answering. The SDK tries again by itself until then. */
const PATIENCE_MS = 4_000;

/**
 * Runs as Temporal workflows: one per (experiment, number), and one per run that is scored; found in Temporal's own pages by the run's name.
 */
export function temporalRunWorkflows(client: Client): RunWorkflows & ScoringWorkflows {
  const inTime = <T>(ask: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + PATIENCE_MS, ask);
  return {
    async start(input, run) {
      await inTime(() =>
        client.workflow.start(RUN_EXPERIMENT, {
          args: [input],
          taskQueue: taskQueues.control,
          workflowId: workflowIdOf(input.experimentId, input.number),
          // A workflow that was terminated by hand or lost with the server's data is started anew by the reconciler under its own id.
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          workflowIdConflictPolicy: 'USE_EXISTING',
          staticSummary: `${run.name} (${run.projectName} / ${run.groupName})`,
          staticDetails: `${run.rowCount} rows, ${run.runner.kind.replaceAll('_', ' ')}, up to ${run.settings.concurrency} at a time`,
        }),
      ).catch((err: unknown) => {
        if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw unavailable(err);
      });
    },

    async score({ projectId, runId, kind, name, projectName }) {
      const input: ScoreRunInput = { projectId, runId, runName: name, projectName, ofExperiment: kind === 'experiment' };
      await inTime(() =>
        client.workflow.signalWithStart(SCORE_RUN, {
          args: [input],
          signal: moreSignal,
          taskQueue: taskQueues.control,
          workflowId: scoringWorkflowId(runId),
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `scores of ${name} (${projectName})`,
        }),
      ).catch((err: unknown) => {
        throw unavailable(err);
      });
    },

    async isOpen(experimentId, number) {
      try {
        const description = await inTime(() => client.workflow.getHandle(workflowIdOf(experimentId, number)).describe());
        return description.status.name === 'RUNNING' || description.status.name === 'CONTINUED_AS_NEW';
      } catch (err) {
        if (err instanceof WorkflowNotFoundError) return false;
        throw unavailable(err);
      }
    },

    async signal(experimentId, number, name, ...args) {
      await inTime(() => client.workflow.getHandle(workflowIdOf(experimentId, number)).signal(name, ...args)).catch(
        (err: unknown) => {
          throw err instanceof WorkflowNotFoundError
            ? new ServiceError('Conflict', 'the run has ended', { cause: err })
            : unavailable(err);
        },
      );
    },

    async progress(experimentId, number) {
      try {
        return await inTime(() =>
          client.workflow.getHandle(workflowIdOf(experimentId, number)).query<WorkflowProgress>(progressQuery),
        );
      } catch (err) {
        if (err instanceof WorkflowNotFoundError) return undefined;
        throw unavailable(err);
      }
    },
  };
}

const unavailable = (cause: unknown) =>
  new ServiceError(
    'Unavailable',
    'the workflow service (Temporal) does not answer: what was asked for is kept and goes on when it is back',
    { cause, retryAfterSeconds: 5 },
  );
