import type { ExperimentProgress } from '../../client/index.ts';
import { type StartAgainOptions, startAgain } from '../../client/startAgain.ts';
import { hasEnded } from '../../client/watchExperiment.ts';
import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { isUuid } from '../lookup/isUuid.ts';
import { nextSteps } from '../output/nextSteps.ts';
import { usageError } from '../terminal/commandError.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { remark, say, sayJson, type Terminal } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

export interface RetryOptions extends WatchOptions {
  rows?: string[];
  metric?: string;
  state?: ('missing' | 'failed' | 'stale')[];
  runRows?: boolean;
}

/** Starts an experiment once more for its failed rows, for listed ones, or for what has no score of a metric that counts. */
export async function retry(terminal: Terminal, words: string, options: RetryOptions): Promise<ExitCode> {
  const { rowsToRun, done } = rowsAskedFor(options);
  const client = await connect(terminal, options);
  const experiment = await findExperiment(client, words, options);
  const at = `/projects/${experiment.project_id}/experiments/${experiment.id}`;
  const before = await client.send<ExperimentProgress>(`${at}/progress`);
  const endWithoutStart = async (reason: string): Promise<ExitCode> => {
    if (options.json) await sayJson(terminal, { experiment, progress: before, started: false });
    else await say(terminal, `${JSON.stringify(experiment.name)} has nothing to run again: ${reason}.`);
    return exitCodes.done;
  };
  if (rowsToRun === 'failed' && hasNothingToDo(before)) return endWithoutStart('no row failed, and every score is there');
  const begun = await startAgain(client, at, { rows_to_run: rowsToRun }, terminal.signal);
  const { started } = begun;
  if (!started && hasEnded(begun))
    return endWithoutStart(`no score of ${options.metric} is ${(options.state ?? ['missing', 'failed', 'stale']).join(' or ')}`);
  const progress = await client.send<ExperimentProgress>(`${at}/progress`);
  if (options.json) await sayJson(terminal, { experiment, progress, started });
  else {
    await say(terminal, `${JSON.stringify(experiment.name)} ${started ? done : 'runs already: nothing else was started'}.`);
    await say(terminal, nextSteps(experiment));
  }
  if (progress.runner === 'caller_function' && progress.rerun?.again !== 'scores' && !options.json)
    await remark(terminal, 'Its rows are run by a function: assay run with the file of that function goes on with it.');
  return exitCodes.done;
}

/** A run that was cancelled, failed or was never started has rows that nothing has recorded. */
const hasNothingToDo = (progress: ExperimentProgress): boolean =>
  progress.state === 'completed' &&
  progress.rows_failed === 0 &&
  progress.rows_done >= progress.rows_total &&
  progress.scores_done >= progress.scores_total;

/** Returns the rows to ask the service for, and the words for what then happens to the experiment. @throws CommandError */
function rowsAskedFor({ rows, metric, state, runRows }: RetryOptions): {
  rowsToRun: StartAgainOptions['rows_to_run'];
  done: string;
} {
  if (metric === undefined) {
    if (state || runRows) throw usageError(`${state ? '--state' : '--run-rows'} goes with --metric`);
    if (!rows) return { rowsToRun: 'failed', done: 'runs the rows that failed again' };
    const ordinals = rows.filter((row) => /^\d+$/.test(row)).map(Number);
    if (ordinals.length > 0 && ordinals.length < rows.length)
      throw usageError('--rows takes ids, or positions from 0, not both at once');
    const odd = ordinals.length > 0 ? undefined : rows.find((row) => !isUuid(row));
    if (odd !== undefined) throw usageError(`--rows takes ids, or positions from 0, and ${JSON.stringify(odd)} is neither`);
    return {
      rowsToRun: ordinals.length > 0 ? { ordinals } : { ids: rows },
      done: `runs ${rows.length === 1 ? 'the row that is' : 'the rows that are'} listed again`,
    };
  }
  if (rows) throw usageError('--rows and --metric do not go together');
  const scores = `${state ? state.join(' or ') : 'missing, failed or stale'} scores of ${metric}`;
  return {
    rowsToRun: { metric, state, again: runRows ? 'rows' : 'scores' },
    done: runRows ? `runs the rows with ${scores} again` : `computes ${scores} again`,
  };
}
