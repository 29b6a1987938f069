import type { ExperimentProgress, ExperimentResponse, ServiceClient } from '../../client/index.ts';
import { readFailures } from '../failures/readFailures.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { remark, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';
import { failuresText } from './failuresText.ts';

type Experiment = Pick<ExperimentResponse, 'id' | 'project_id'>;

/**
 * Ends the waiting for a run that pauses by itself where no person watches: a build would wait for ever. At a terminal the line of progress says it,
 * and somebody who pauses a run by hand knows.
 */
export function untilPaused({ stderr, signal }: Terminal) {
  const pausing = new AbortController();
  let paused: ExperimentProgress | undefined;
  return {
    signal: AbortSignal.any([signal, pausing.signal]),
    note(progress: ExperimentProgress): void {
      if (stderr.isTTY || paused || progress.state !== 'paused' || progress.message === null) return;
      paused = progress;
      pausing.abort(new Error('the run has paused'));
    },
    /** Says why the run has paused; undefined where it has not. */
    async report(
      terminal: Terminal,
      client: ServiceClient,
      experiment: Experiment | undefined,
      asJson: boolean,
    ): Promise<ExitCode | undefined> {
      if (!paused || !experiment || signal.aborted) return undefined;
      const failures = await readFailures(client, experiment, paused, signal);
      if (asJson) await sayJson(terminal, { experiment, progress: paused, failures: failures?.reasons ?? [] });
      else if (failures)
        await remark(terminal, failuresText(failures, experiment.project_id, widthOf(terminal.stderr, terminal.environment)));
      const { rows_done, rows_total, message } = paused;
      const place = `${experiment.id} --project-id ${experiment.project_id}`;
      await remark(
        terminal,
        `The run has paused by itself at ${rows_done} of ${rows_total} rows: ${message}. Go on: assay resume ${place}   Cancel it: assay cancel ${place}`,
      );
      return exitCodes.runPaused;
    },
  };
}
