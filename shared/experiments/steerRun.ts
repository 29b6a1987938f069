import { ServiceError } from '../errors.ts';
import { type ExperimentRun, hasEnded } from './experiment.ts';
import type { RunLedger } from './runLedger.ts';
import type { RunWorkflows } from './startRun.ts';
import { cancelSignal, concurrencySignal, pauseSignal, resumeSignal } from './workflow.ts';

/** Steering a run that goes on. Each answers the run as it stands afterwards. */
export interface RunControl {
  pause(run: ExperimentRun): Promise<ExperimentRun>;
  resume(run: ExperimentRun): Promise<ExperimentRun>;
  cancel(run: ExperimentRun): Promise<ExperimentRun>;
  setConcurrency(run: ExperimentRun, concurrency: number): Promise<ExperimentRun>;
}

export function runControl({ ledger, workflows }: { ledger: RunLedger; workflows: RunWorkflows }): RunControl {
  const signalled = async (run: ExperimentRun, name: string, ...args: unknown[]) => {
    if (run.state === 'idle') throw new ServiceError('Conflict', 'the experiment has no run yet: start one');
    if (hasEnded(run.state))
      throw new ServiceError('Conflict', `the run has ended (${run.state}); start it again for the rows that are left`);
    await workflows.signal(run.experimentId, run.workflowNumber, name, ...args);
    return (await ledger.find(run.experimentId)) ?? run;
  };
  return {
    async pause(run) {
      // The state first: workers read it to tell a pause, which lets rows end, from a cancel, which does not wait for them.
      await ledger.setState(run.experimentId, ['running', 'requested'], 'paused');
      return signalled(run, pauseSignal);
    },
    resume: (run) => signalled(run, resumeSignal),
    cancel: (run) => signalled(run, cancelSignal),
    async setConcurrency(run, concurrency) {
      await ledger.setSettings(run.experimentId, { concurrency });
      return signalled(run, concurrencySignal, concurrency);
    },
  };
}
