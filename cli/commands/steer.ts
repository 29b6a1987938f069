import type { ExperimentProgress } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { nextSteps } from '../output/nextSteps.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { say, sayJson, type Terminal } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

/** Says what each command does to the run. */
const steps = {
  pause: 'starts no new row; those in flight end',
  resume: 'goes on',
  cancel: 'is being cancelled; what is recorded stays',
} as const;

export type Step = keyof typeof steps;

/** Pauses, resumes or cancels the run of an experiment. */
export async function steer(terminal: Terminal, step: Step, words: string, options: WatchOptions): Promise<ExitCode> {
  const client = await connect(terminal, options);
  const experiment = await findExperiment(client, words, options);
  const at = `/projects/${experiment.project_id}/experiments/${experiment.id}`;
  await client.send(`${at}/${step}`, { method: 'POST', signal: terminal.signal });
  if (options.json) {
    await sayJson(terminal, { experiment, progress: await client.send<ExperimentProgress>(`${at}/progress`) });
  } else {
    await say(terminal, `${JSON.stringify(experiment.name)} ${steps[step]}.`);
    if (step !== 'cancel') await say(terminal, nextSteps(experiment));
  }
  return exitCodes.done;
}
