import type { z } from 'zod';
import type { RunRequest } from '../shared/wire/experimentRuns.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { builtInNames, checkLocal, isLocal } from './chooseMetrics.ts';
import { HttpStatusError, ValueError } from './errors.ts';
import type { ExperimentProgress } from './experimentRunResults.ts';
import { runHostedRow } from './hostedRow.ts';
import { hostRows } from './hostRows.ts';
import type { HostedRow, LocalMetric } from './localMetric.ts';
import { startAgain } from './startAgain.ts';
import { thrownText } from './texts.ts';
import { hasEnded, progressOf, watchExperiment } from './watchExperiment.ts';

export interface RerunExperimentOptions<Input = unknown, Output = unknown> extends OperationOptions {
  experimentId: string;
  /**
   * Rows that are not recorded (`missing`), those and the rows that failed (`failed`, the default), or exactly these: by id or by position in the
   * dataset or list of records, all their trials or those named, from 0.
   */
  rows?: 'missing' | 'failed' | { ids?: string[]; ordinals?: number[]; trials?: number[] } | undefined;
  /** In place of `rows`: what has no value of this metric that counts. */
  metric?: string | undefined;
  /** With `metric`, the values to make again: missing ones, failed ones, and ones older than their row or made by another version; all by default. */
  state?: ('missing' | 'failed' | 'stale')[] | undefined;
  /** With `metric`: compute the values alone and keep the outputs (`scores`, the default), or run the rows again. */
  again?: 'scores' | 'rows' | undefined;
  /** Runs the rows when the experiment's runner is a function of the caller. */
  function?: ((input: Input, row: HostedRow<Input>) => Output | Promise<Output>) | undefined;
  /** With `function`: the metrics that are computed in this process. */
  metrics?: readonly LocalMetric<Input, Awaited<Output>>[] | undefined;
  /** False: do not wait for the end of a run of the service. Default true. */
  wait?: boolean | undefined;
  /** Called about once a second while it is waited, and with the end. */
  onProgress?: ((progress: ExperimentProgress) => void) | undefined;
  /** Stops the waiting and starting rows; the run itself stays. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts an experiment once more, for some of its rows or scores; what is not chosen stays as it is. Gives how the run ended, or how it stands where
 * the end is not waited for. While a run of the experiment goes on, that one is followed.
 * @throws ValueError for wrong parameters, unknown rows and metrics included; HttpStatusError for what else the service refuses
 */
export async function rerunExperiment<Input = unknown, Output = unknown>(
  options: RerunExperimentOptions<Input, Output>,
): Promise<ExperimentProgress> {
  const rowsToRun = chosenRows(options);
  const client = clientOf({ client: options.client });
  const projectId = await resolveProject(client, options);
  const { experimentId, function: run } = options;
  const path = `/projects/${projectId}/experiments/${experimentId}`;
  const { runner } = await progressOf({ client, path }, options.signal);
  const runsRows = options.metric === undefined || options.again === 'rows';
  if (runsRows && runner === 'caller_function' && !run)
    throw new ValueError('the rows of this experiment are run by a function of yours: give it as `function`');
  if (run && runner !== 'caller_function')
    throw new ValueError(`the service runs the rows of this experiment (${runner}): a function is of no use`);
  const takenNames = await builtInNames(client, options.metrics ?? []);
  const process = run && runsRows ? crypto.randomUUID() : undefined;
  const again = { rows_to_run: rowsToRun, process };
  const begun = await startAgain(client, path, again, options.signal).catch((err: unknown) => {
    throw err instanceof HttpStatusError && err.status === 422 ? new ValueError(err.message, { cause: err }) : err;
  });
  const watched = { client, projectId, experimentId, onProgress: options.onProgress, signal: options.signal };
  const hasNothingToDo = !begun.started && hasEnded(begun);
  if (!run || !process || hasNothingToDo)
    return options.wait === false ? progressOf({ client, path }, options.signal) : watchExperiment(watched);
  const warn = (message: string) => client.logger.warn(message);
  const work = { function: run, metrics: [...(options.metrics ?? [])], takenNames, warn };
  await hostRows({
    ...{ client, projectId, experimentId, concurrency: begun.concurrency, process, warn },
    run: (row, timeLimitMs, limit) => runHostedRow(work, row, timeLimitMs, limit),
    onError: (error) => warn(`results could not be handed over, they are sent again: ${thrownText(error)}`),
    until: options.wait === false ? 'recorded' : 'ended',
    signal: options.signal,
  });
  const end = await progressOf({ client, path }, options.signal);
  options.onProgress?.(end);
  return end;
}

/** @throws ValueError */
function chosenRows<I, O>(options: RerunExperimentOptions<I, O>): z.input<typeof RunRequest>['rows_to_run'] {
  const { rows, metric, state, again, metrics = [] } = options;
  if (rows !== undefined && metric !== undefined) throw new ValueError('give rows or a metric, not both');
  if (metric === undefined && (state !== undefined || again !== undefined))
    throw new ValueError('state and again go with a metric');
  if (metrics.length > 0 && !options.function) throw new ValueError('metrics of this process go with a function only');
  if (!metrics.every(isLocal)) throw new ValueError('the metrics that the service computes are those of the experiment');
  checkLocal(metrics as readonly LocalMetric[]);
  return metric === undefined ? (rows ?? 'failed') : { metric, state, again };
}
