import type { Context } from '@temporalio/activity';
import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { RunLedger } from '../shared/experiments/runLedger.ts';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';

/** Milliseconds that rows and values in flight get to end after a cancel. */
export const CANCEL_GRACE_MS = 10_000;
/** The same at the end of this worker, whose process has 9.5 s for all of its own. */
export const STOP_GRACE_MS = 5_000;

export interface GiveUpDeps {
  ledger: Pick<RunLedger, 'find'>;
  workflows: Pick<RunWorkflows, 'progress'>;
}

/**
 * After how many milliseconds rows or values in flight are given up when their activity is cancelled. A pause lets them end, also when the run goes
 * on before they have ended (undefined). A cancel, a failure, a deletion and the end of this worker do not wait for them; a workflow that is gone, because
 * somebody terminated or reset it, leaves them no time at all.
 * @param ending aborts when the worker ends
 */
export async function mustGiveUp(
  { ledger, workflows }: GiveUpDeps,
  run: Pick<ExperimentRun, 'experimentId' | 'workflowId'>,
  context: Context,
  ending: AbortSignal,
): Promise<number | undefined> {
  if (context.cancellationDetails?.notFound) return 0;
  if (ending.aborted) return STOP_GRACE_MS;
  if (!context.cancellationDetails?.cancelRequested || !(await ledger.find(run.experimentId))) return CANCEL_GRACE_MS;
  const workflow = await workflows.progress(run);
  return workflow === undefined || workflow.cancelled || workflow.fails ? CANCEL_GRACE_MS : undefined;
}
