import { ServiceError } from '../errors/errors.ts';
import { type ExperimentRun, hasEnded } from './experiment.ts';
import type { RunLedger } from './runLedger.ts';
import type { RunWorkflows } from './startRun.ts';
import { concurrencySignal, pauseSignal, resumeSignal } from './workflow.ts';

/** Steering a run that goes on. Each answers the run as it stands afterwards. */
export interface RunControl {
  pause(run: ExperimentRun): Promise<ExperimentRun>;
  resume(run: ExperimentRun): Promise<ExperimentRun>;
  cancel(run: ExperimentRun): Promise<ExperimentRun>;
  setConcurrency(run: ExperimentRun, concurrency: number): Promise<ExperimentRun>;
}

export function runControl({ ledger, workflows }: { ledger: RunLedger; workflows: RunWorkflows }): RunControl {
  const steered = async (run: ExperimentRun, steer: () => Promise<void>) => {
    if (run.state === 'idle') throw new ServiceError('Conflict', 'the experiment has no run yet: start one');
    if (hasEnded(run.state))
      throw new ServiceError('Conflict', `the run has ended (${run.state}); start it again for the rows that are left`);
    await steer();
    return (await ledger.find(run.experimentId)) ?? run;
  };
  const signalled = (run: ExperimentRun, name: string, ...args: unknown[]) =>
    steered(run, () => workflows.signal(run, name, ...args));
  return {
    async pause(run) {
      // The state first: no caller's process is to be given a further row while the workflow hears of it.
      const changed = await ledger.setState(run.experimentId, ['running', 'requested'], 'paused');
      const before = run.state === 'requested' ? 'requested' : 'running';
      return signalled(run, pauseSignal).catch(async (err: unknown) => {
        if (changed) await ledger.setState(run.experimentId, ['paused'], before);
        throw err;
      });
    },
    async resume(run) {
      // The workflow writes the state where it waits; rows that still end from before the pause keep it from getting there.
      const changed = await ledger.setState(run.experimentId, ['paused'], 'running');
      return signalled(run, resumeSignal).catch(async (err: unknown) => {
        if (changed) await ledger.setState(run.experimentId, ['running'], 'paused');
        throw err;
      });
    },
    cancel: (run) => steered(run, () => workflows.cancel(run)),
    async setConcurrency(run, concurrency) {
      await ledger.setSettings(run.experimentId, { concurrency });
      return signalled(run, concurrencySignal, concurrency);
    },
  };
}
