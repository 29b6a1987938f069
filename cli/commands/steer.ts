import type { ExperimentProgress } from '../../client/index.ts';
import { connect } from '../connect.ts';
import { type ExitCode, exitCodes } from '../exitCodes.ts';
import { findExperiment } from '../findExperiment.ts';
import { say, sayJson, type Terminal } from '../terminal.ts';
import { waysOn } from '../waysOn.ts';
import type { WatchOptions } from './watch.ts';

/** What each command asks of the service, and what has become of the run then. */
const steps = {
  pause: { path: 'pause', body: undefined, done: 'starts no new row; those in flight end' },
  resume: { path: 'resume', body: undefined, done: 'goes on' },
  cancel: { path: 'cancel', body: undefined, done: 'is being cancelled; what is recorded stays' },
  retry: { path: 'run', body: { rows_to_run: 'failed' }, done: 'runs the rows that failed again' },
} as const;

export type Step = keyof typeof steps;

/** Pauses, resumes or cancels the run of an experiment, or runs its failed rows again. */
export async function steer(terminal: Terminal, step: Step, words: string, options: WatchOptions): Promise<ExitCode> {
  const client = await connect(terminal, options);
  const experiment = await findExperiment(client, words, options);
  const { path, body, done } = steps[step];
  const at = `/projects/${experiment.project_id}/experiments/${experiment.id}`;
  await client.send(`${at}/${path}`, { method: 'POST', ...(body && { body }), signal: terminal.signal });
  if (options.json) {
    await sayJson(terminal, { experiment, progress: await client.send<ExperimentProgress>(`${at}/progress`) });
  } else {
    await say(terminal, `${JSON.stringify(experiment.name)} ${done}.`);
    if (step !== 'cancel') await say(terminal, waysOn(experiment));
  }
  return exitCodes.done;
}
