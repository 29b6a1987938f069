import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors/errors.ts';
import { type ExperimentRun, hasEnded } from './experiment.ts';
import { type StartDeps, startWorkflow, type WorkflowStatus } from './startRun.ts';
import { pauseSignal } from './workflow.ts';

/** Runs looked after at a time: a workflow service that does not answer takes seconds for each. */
const RECONCILED_AT_ONCE = 20;

/**
 * Milliseconds after the end of a workflow that somebody terminated until its run is noted as ended: workers hear of it with their next heartbeat,
 * a second later, and what they write after that is refused.
 */
const TERMINATED_GRACE_MS = 3_000;

export interface ReconcileDeps extends StartDeps {
  /** The aggregates of what is recorded. */
  settle(run: ExperimentRun): Promise<unknown>;
  /** Notifies the callers that wait for the run that its state has changed. */
  notify(experimentId: string): void;
}

export interface ReconcileReport {
  started(run: ExperimentRun): void;
  /** Its workflow has ended without noting it. */
  ended(run: ExperimentRun, reason: string): void;
  /** The tasks of its workflow fail again and again. */
  stuck(run: ExperimentRun, problem: string): void;
  /** This run is tried again next time; the others are not held up by it. */
  failed(run: ExperimentRun, err: unknown): void;
}

/**
 * Makes runs that have not ended agree with their workflows. A workflow that its server does not know is started: after a crash between the request and
 * the start, or after the server lost its data. One that was ended from outside ends its run. Safe at any time, in any number of processes.
 * @returns the runs whose workflows do not get on
 */
export async function reconcileRuns(deps: ReconcileDeps, report: ReconcileReport): Promise<ExperimentRun[]> {
  const runs = (await deps.ledger.unended()).values();
  const stuck: ExperimentRun[] = [];
  const lane = async () => {
    for (const run of runs) {
      try {
        const status = await deps.workflows.status(run);
        if (status.kind === 'open') {
          await noteProblem(deps, run, status.problem);
          if (status.problem !== null) {
            stuck.push(run);
            report.stuck(run, status.problem);
          }
          if (run.state === 'requested') await deps.ledger.setState(run.experimentId, ['requested'], 'running');
        } else await heal(deps, run, status, report);
      } catch (err) {
        report.failed(run, err);
      }
    }
  };
  await Promise.all(Array.from({ length: RECONCILED_AT_ONCE }, lane));
  return stuck;
}

async function noteProblem({ ledger }: ReconcileDeps, run: ExperimentRun, problem: string | null): Promise<void> {
  if (problem !== run.workflowProblem) await ledger.setWorkflowProblem(run.experimentId, problem);
}

async function heal(
  deps: ReconcileDeps,
  listed: ExperimentRun,
  status: Exclude<WorkflowStatus, { kind: 'open' }>,
  report: ReconcileReport,
): Promise<void> {
  // The list may be older than the answer: a workflow notes the end of its run before it closes.
  const run = await deps.ledger.find(listed.experimentId);
  if (!run || hasEnded(run.state) || run.workflowNumber !== listed.workflowNumber) return;
  if (status.kind === 'absent') {
    await startWorkflow(deps, run);
    // A new workflow knows nothing of the pause of the one that was lost.
    if (run.state === 'paused')
      await deps.workflows.signal(run, pauseSignal, (await deps.ledger.times(run.experimentId)).message);
    report.started(run);
    return;
  }
  const { state, reason } = endOf(status);
  if (status.how === 'terminated') {
    const left = status.closedAt.getTime() + TERMINATED_GRACE_MS - Date.now();
    if (left > 0) await delay(Math.min(left, TERMINATED_GRACE_MS));
    // A reset ends an execution in the same way, and opens another.
    if ((await deps.workflows.status(run)).kind === 'open') return;
  }
  const aggregates = await deps.settle(run).catch((err: unknown) => {
    // A store that is away is waited for: this run is looked after again.
    if (err instanceof ServiceError && !err.permanent) throw err;
    report.failed(run, err);
    return null;
  });
  await deps.ledger.end(run.experimentId, run.workflowNumber, state, { error: reason, aggregates });
  report.ended(run, reason);
  deps.notify(run.experimentId);
}

function endOf({ how, reason }: Extract<WorkflowStatus, { kind: 'closed' }>): {
  state: 'failed' | 'cancelled';
  reason: string;
} {
  const why = reason ? `: ${reason}` : '';
  switch (how) {
    case 'terminated':
    case 'cancelled':
      return { state: 'cancelled', reason: `the workflow was ${how} in Temporal${why}` };
    case 'completed':
      return { state: 'failed', reason: 'the workflow completed in Temporal without noting the end of the run' };
    case 'failed':
      return { state: 'failed', reason: `the workflow failed in Temporal${why}` };
    case 'timed out':
      return { state: 'failed', reason: 'the workflow timed out in Temporal' };
    default:
      return how satisfies never;
  }
}
