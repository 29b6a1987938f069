import {
  type ExperimentProgress,
  type ExperimentResponse,
  type GateResult,
  type ServiceClient,
  watchExperiment,
} from '../../client/index.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { readFailures } from '../failures/readFailures.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import type { ProjectOptions } from '../lookup/findProject.ts';
import { failuresText } from '../output/failuresText.ts';
import { gateExitCodes, gateReport } from '../output/gateReport.ts';
import { nextSteps } from '../output/nextSteps.ts';
import { progressDisplay } from '../output/progressDisplay.ts';
import { resultsText } from '../output/resultsText.ts';
import { untilPaused } from '../output/untilPaused.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { remark, say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';

export interface WatchOptions extends ServiceOptions, ProjectOptions {
  json?: boolean;
}

export async function watch(terminal: Terminal, words: string, options: WatchOptions): Promise<ExitCode> {
  const client = await connect(terminal, options);
  const experiment = await findExperiment(client, words, options);
  const display = await progressDisplay(terminal);
  const pause = untilPaused(terminal);
  let progress: ExperimentProgress;
  try {
    progress = await watchExperiment({
      client,
      projectId: experiment.project_id,
      experimentId: experiment.id,
      onProgress: (now) => {
        display.show(now);
        pause.note(now);
      },
      signal: pause.signal,
    });
  } catch (err) {
    display.end();
    const paused = await pause.report(terminal, client, experiment, options.json === true);
    if (paused !== undefined) return paused;
    if (terminal.signal.aborted) await remark(terminal, `The run goes on in the service. ${nextSteps(experiment)}`);
    throw err;
  }
  display.end();
  return showResults(terminal, client, experiment, progress, options.json);
}

/** The experiment as it is now that its run has ended, and how the command ends with it. */
export async function showResults(
  terminal: Terminal,
  client: ServiceClient,
  { id, project_id }: Pick<ExperimentResponse, 'id' | 'project_id'>,
  progress: ExperimentProgress,
  asJson = false,
  gate?: GateResult,
): Promise<ExitCode> {
  const experiment = await client.send<ExperimentResponse>(`/projects/${project_id}/experiments/${id}`);
  const failures = await readFailures(client, { id, project_id }, progress, terminal.signal);
  const width = widthOf(terminal.stdout, terminal.environment);
  if (asJson) await sayJson(terminal, { experiment, progress, gate, failures: failures?.reasons ?? [] });
  else await say(terminal, resultsText(experiment, progress, width));
  if (failures && !asJson) await say(terminal, `\n${failuresText(failures, project_id, width)}`);
  const { settings_not_sent: unsent } = progress;
  if (unsent?.length) await remark(terminal, `Not sent to this model: ${unsent.join(', ')}.`);
  if (gate && !asJson) await say(terminal, `\n${gateReport('text', gate, '')}`);
  if (progress.state === 'failed' || progress.state === 'cancelled') return exitCodes.runFailed;
  if (gate) return gateExitCodes[gate.status];
  return progress.rows_failed > 0 && progress.rows_failed === progress.rows_done ? exitCodes.allRowsFailed : exitCodes.done;
}
