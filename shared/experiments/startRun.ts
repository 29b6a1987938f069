import { ServiceError } from '../errors/errors.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RunDefinition, RunLedger } from './runLedger.ts';
import type { RunExperimentInput, WorkflowProgress } from './workflow.ts';

/** A workflow as its server knows it; the newest execution counts, so that a reset goes on as the same run. */
export type WorkflowStatus =
  | { kind: 'absent' }
  /** `problem`: why its tasks fail again and again. */
  | { kind: 'open'; runId: string; problem: string | null }
  | {
      kind: 'closed';
      how: 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed out';
      closedAt: Date;
      reason: string | null;
    };

type WorkflowRef = Pick<ExperimentRun, 'workflowId'>;

/** The durable execution of runs, as starting and steering them needs it. */
export interface RunWorkflows {
  /** Starts the workflow of a run; does nothing when the server knows that workflow, however it stands. */
  start(input: Omit<RunExperimentInput, 'searchAttributes'>, run: ExperimentRun): Promise<void>;
  status(run: WorkflowRef): Promise<WorkflowStatus>;
  signal(run: WorkflowRef, name: string, ...args: unknown[]): Promise<void>;
  /** Asks the workflow to end, as a cancel in Temporal's own pages does. */
  cancel(run: WorkflowRef): Promise<void>;
  /** Returns what the workflow itself knows; undefined when there is none. Leaves nothing in its history. */
  progress(run: WorkflowRef): Promise<WorkflowProgress | undefined>;
  /** Processes that take chunks of rows at present. */
  rowWorkers(): Promise<number>;
  /**
   * Says that an execution of an activity is alive, as a heartbeat does, and waits for the answer. @returns false where the server has given it up: another
   * worker may have the activity since
   */
  keepActivity(taskToken: Uint8Array): Promise<boolean>;
}

export interface StartDeps {
  ledger: RunLedger;
  workflows: RunWorkflows;
}

/**
 * Starts a run: the request is committed first, then the workflow is started, then the run is marked as running. A crash in between is healed by
 * `reconcileRuns`. Asking again for a run that goes on, or was started since workflow `after`, gives that run.
 * @throws ServiceError `NotFound` for an unknown experiment, `Unavailable` when the workflow service does not answer; the run then starts by itself later.
 */
export async function startRun(
  deps: StartDeps,
  experimentId: string,
  after: number,
  definition: RunDefinition,
): Promise<{ run: ExperimentRun; started: boolean }> {
  const requested = await deps.ledger.request(experimentId, after, definition);
  if (!requested) throw new ServiceError('NotFound', `no experiment ${experimentId}`);
  if (requested.started) await startWorkflow(deps, requested.run);
  return requested;
}

export async function startWorkflow(deps: StartDeps, run: ExperimentRun): Promise<void> {
  await deps.workflows.start({ experimentId: run.experimentId, projectId: run.projectId, number: run.workflowNumber }, run);
  await deps.ledger.setState(run.experimentId, ['requested'], 'running');
}
