import type { Context } from '@temporalio/activity';
import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { RunLedger } from '../shared/experiments/runLedger.ts';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';

/** Milliseconds that rows and values in flight get to end after a cancel. */
export const CANCEL_GRACE_MS = 10_000;
/** The same at the end of this worker, whose process has 9.5 s for all of its own. */
export const STOP_GRACE_MS = 5_000;
/** Milliseconds between two looks at whether what is in flight is to be given up. */
const LOOK_MS = 1_000;

export interface GiveUpDeps {
  ledger: Pick<RunLedger, 'find'>;
  workflows: Pick<RunWorkflows, 'progress'>;
}

/**
 * After how many milliseconds rows or values in flight are given up when their activity is called back. A pause and a change of the concurrency let
 * them end, also when the run goes on before they have ended (undefined). A cancel, a deletion and the end of this worker do not wait for them.
 * @param ending aborts when the worker ends
 */
export async function mustGiveUp(
  { ledger, workflows }: GiveUpDeps,
  { experimentId, workflowNumber }: Pick<ExperimentRun, 'experimentId' | 'workflowNumber'>,
  context: Context,
  ending: AbortSignal,
): Promise<number | undefined> {
  if (ending.aborted) return STOP_GRACE_MS;
  if (!context.cancellationDetails?.cancelRequested || !(await ledger.find(experimentId))) return CANCEL_GRACE_MS;
  const workflow = await workflows.progress(experimentId, workflowNumber);
  return workflow === undefined || workflow.cancelled ? CANCEL_GRACE_MS : undefined;
}

/**
 * Aborts when what is in flight is to be given up: so many milliseconds after `stopping` as `graceMs` says. That is asked again and again, as a pause
 * that waits may turn into a cancel.
 * @returns the signal, and what ends the asking
 */
export function givenUpAfter(
  stopping: AbortSignal,
  graceMs: () => Promise<number | undefined>,
): { signal: AbortSignal; end(): void } {
  const givenUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let at = Number.POSITIVE_INFINITY;
  const look = async () => {
    const grace = await graceMs().catch(() => undefined);
    if (grace !== undefined) at = Math.min(at, Date.now() + grace);
    if (ended) return;
    if (Date.now() >= at) givenUp.abort(new Error('the values in flight were given up'));
    else timer = setTimeout(look, Math.min(LOOK_MS, Math.max(0, at - Date.now())));
  };
  const onStopping = () => void look();
  stopping.addEventListener('abort', onStopping, { once: true });
  if (stopping.aborted) onStopping();
  return {
    signal: givenUp.signal,
    end() {
      ended = true;
      clearTimeout(timer);
      stopping.removeEventListener('abort', onStopping);
    },
  };
}
