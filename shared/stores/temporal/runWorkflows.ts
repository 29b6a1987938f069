import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { taskQueues } from '../../config/taskQueues.ts';
import type { ExtensionWorkflows } from '../../datasetExtensions/extension.ts';
import { EXTEND_DATASET, type ExtendInput, extensionWorkflowId } from '../../datasetExtensions/workflow.ts';
import { ServiceError } from '../../errors/errors.ts';
import type { RunWorkflows, WorkflowStatus } from '../../experiments/startRun.ts';
import {
  progressQuery,
  RUN_EXPERIMENT,
  type RunExperimentInput,
  type SearchAttribute,
  type WorkflowProgress,
} from '../../experiments/workflow.ts';
import type { ScoringWorkflows } from '../../scoring/scoring.ts';
import { moreSignal, SCORE_RUN, type ScoreRunInput, scoringWorkflowId } from '../../scoring/workflow.ts';
import { workersOf } from './queueWorkers.ts';
import { endReason, taskProblem } from './workflowHistory.ts';

/** Milliseconds after which Temporal counts as not answering. The SDK tries again by itself until then. */
const PATIENCE_MS = 4_000;

/**
 * Runs as Temporal workflows: one per (experiment, number), and one per run that is scored; found in Temporal's own pages by the run's name.
 * @param searchAttributes those that the namespace has, as far as is known
 */
export function temporalRunWorkflows(
  client: Client,
  searchAttributes: () => readonly SearchAttribute[],
): RunWorkflows & ScoringWorkflows & ExtensionWorkflows {
  const inTime = <T>(ask: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + PATIENCE_MS, ask);
  const handleOf = ({ workflowId }: { workflowId: string }) => client.workflow.getHandle(workflowId);
  /** `absent` where the server does not know the workflow, or where it has closed and cannot take what is asked. */
  const unlessAbsent = async <T, A>(ask: () => Promise<T>, absent: (err: WorkflowNotFoundError) => A): Promise<T | A> => {
    try {
      return await inTime(ask);
    } catch (err) {
      if (err instanceof WorkflowNotFoundError) return absent(err);
      throw unavailable(err);
    }
  };
  const hasEnded = (cause: Error): never => {
    throw new ServiceError('Conflict', 'the run has ended', { cause });
  };

  return {
    async start(input, run) {
      const args: [RunExperimentInput] = [{ ...input, searchAttributes: [...searchAttributes()] }];
      await inTime(() =>
        client.workflow.start(RUN_EXPERIMENT, {
          args,
          taskQueue: taskQueues.control,
          workflowId: run.workflowId,
          // The id belongs to one run for good: one that was ended in Temporal's own pages does not come back.
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'USE_EXISTING',
          staticSummary: `${run.name} (${run.projectName} / ${run.groupName})`,
          staticDetails: `${run.rowCount} rows, ${run.runner.kind.replaceAll('_', ' ')}, up to ${run.settings.concurrency} at a time`,
        }),
      ).catch((err: unknown) => {
        if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw unavailable(err);
      });
    },

    async score({ projectId, runId, kind, name, projectName }) {
      const ofExperiment = kind === 'experiment';
      const input: ScoreRunInput = {
        projectId,
        runId,
        runName: name,
        projectName,
        ofExperiment,
        searchAttributes: [...searchAttributes()],
      };
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

    async extend(datasetId) {
      const input: ExtendInput = { datasetId };
      await inTime(() =>
        client.workflow.start(EXTEND_DATASET, {
          args: [input],
          taskQueue: taskQueues.control,
          workflowId: extensionWorkflowId(datasetId),
          // As of a run: one that was ended in Temporal's own pages does not come back.
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'USE_EXISTING',
          staticSummary: `rows of the dataset ${datasetId}`,
        }),
      ).catch((err: unknown) => {
        if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw unavailable(err);
      });
    },

    status: (run) =>
      unlessAbsent(
        async () => statusOf(client, await handleOf(run).describe()),
        () => ({ kind: 'absent' }),
      ),

    signal: (run, name, ...args) => unlessAbsent(() => handleOf(run).signal(name, ...args), hasEnded),

    cancel: async (run) => void (await unlessAbsent(() => handleOf(run).cancel(), hasEnded)),

    progress: (run) =>
      unlessAbsent(
        () => handleOf(run).query<WorkflowProgress>(progressQuery),
        () => undefined,
      ),

    rowWorkers: () =>
      inTime(() => workersOf(client, 'rows')).catch((err: unknown) => {
        throw unavailable(err);
      }),

    async keepActivity(taskToken) {
      try {
        await inTime(() => client.activity.heartbeat(taskToken));
        return true;
      } catch (err) {
        if (err instanceof ActivityNotFoundError) return false;
        // The activity still belongs to this worker; the SDK gets the same answer and passes it on to the activity.
        if (err instanceof ActivityCancelledError || err instanceof ActivityPausedError || err instanceof ActivityResetError)
          return true;
        throw unavailable(err);
      }
    },
  };
}

async function statusOf(client: Client, description: WorkflowExecutionDescription): Promise<WorkflowStatus> {
  const { workflowId, runId, closeTime } = description;
  const closed = async (how: Extract<WorkflowStatus, { kind: 'closed' }>['how']): Promise<WorkflowStatus> => ({
    kind: 'closed',
    how,
    closedAt: closeTime ?? new Date(),
    reason: await endReason(client, workflowId, runId),
  });
  switch (description.status.name) {
    case 'COMPLETED':
      return closed('completed');
    case 'FAILED':
      return closed('failed');
    case 'CANCELLED':
      return closed('cancelled');
    case 'TERMINATED':
      return closed('terminated');
    case 'TIMED_OUT':
      return closed('timed out');
    default:
      return { kind: 'open', runId, problem: await taskProblem(client, description) };
  }
}

const unavailable = (cause: unknown) =>
  new ServiceError(
    'Unavailable',
    'the workflow service (Temporal) does not answer: what was asked for is kept and goes on when it is back',
    { cause, retryAfterSeconds: 5 },
  );
