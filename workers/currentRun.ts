import { Context } from '@temporalio/activity';
import { type ExperimentRun, hasEnded } from '../shared/experiments/experiment.ts';
import type { RunLedger } from '../shared/experiments/runLedger.ts';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';

export interface CurrentRunDeps {
  ledger: Pick<RunLedger, 'find' | 'reopen'>;
  workflows: Pick<RunWorkflows, 'status'>;
}

/**
 * The run for which the present activity works. One that has ended goes on when somebody has reset its workflow: then it is the newest execution that asks.
 * @returns why there is none, where the experiment was deleted, has a newer run, or its run has ended
 */
export async function currentRun(
  { ledger, workflows }: CurrentRunDeps,
  { experimentId, number }: { experimentId: string; number: number },
): Promise<ExperimentRun | { none: string }> {
  const run = await ledger.find(experimentId);
  if (!run) return { none: `experiment ${experimentId} was deleted` };
  if (run.workflowNumber !== number) return { none: `experiment ${experimentId} has a newer run` };
  if (!hasEnded(run.state)) return run;
  const status = await workflows.status(run);
  const asking = Context.current().info.workflowExecution?.runId;
  if (status.kind !== 'open' || status.runId !== asking) return { none: `the run of experiment ${experimentId} has ended` };
  await ledger.reopen(experimentId, number);
  return { ...run, state: 'running' };
}
