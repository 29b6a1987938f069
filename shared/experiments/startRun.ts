import { ServiceError } from '../errors.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RunDefinition, RunLedger } from './runLedger.ts';
import { pauseSignal, type RunExperimentInput, type WorkflowProgress } from './workflow.ts';

/** The durable execution of runs, as starting and steering them needs it. */
export interface RunWorkflows {
  /** Starts the workflow of a run; does nothing when that workflow exists. */
  start(input: RunExperimentInput, run: ExperimentRun): Promise<void>;
  /** True when the workflow exists and has not ended. */
  isOpen(experimentId: string, number: number): Promise<boolean>;
  signal(experimentId: string, number: number, name: string, ...args: unknown[]): Promise<void>;
  /** What the workflow itself knows; undefined when there is none. Leaves nothing in its history. */
  progress(experimentId: string, number: number): Promise<WorkflowProgress | undefined>;
}

export interface StartDeps {
  ledger: RunLedger;
  workflows: RunWorkflows;
}

/**
 * Starts a run: the wish is committed first, then the workflow is started, then the run is marked as running. A crash in between is healed by
 * {@link reconcile}. Asking again for a run that goes on, or was started since workflow `after`, gives that run.
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

async function startWorkflow(deps: StartDeps, run: ExperimentRun): Promise<void> {
  await deps.workflows.start({ experimentId: run.experimentId, projectId: run.projectId, number: run.workflowNumber }, run);
  await deps.ledger.setState(run.experimentId, ['requested'], 'running');
}

/** Runs looked after at a time: a workflow service that does not answer takes seconds for each. */
const RECONCILED_AT_ONCE = 20;

export interface ReconcileReport {
  started(run: ExperimentRun): void;
  /** This run is tried again next time; the others are not held up by it. */
  failed(run: ExperimentRun, err: unknown): void;
}

/**
 * Starts what should be running and has no workflow: after a crash between the wish and the start, or after the workflow service lost its data.
 * Safe at any time, since complete rows are skipped.
 */
export async function reconcile(deps: StartDeps, report: ReconcileReport): Promise<void> {
  const runs = (await deps.ledger.unended()).values();
  const lane = async () => {
    for (const run of runs) {
      try {
        if (run.state !== 'requested' && (await deps.workflows.isOpen(run.experimentId, run.workflowNumber))) continue;
        await startWorkflow(deps, run);
        // A new workflow knows nothing of the pause of the one that was lost.
        if (run.state === 'paused') await deps.workflows.signal(run.experimentId, run.workflowNumber, pauseSignal);
        report.started(run);
      } catch (err) {
        report.failed(run, err);
      }
    }
  };
  await Promise.all(Array.from({ length: RECONCILED_AT_ONCE }, lane));
}
