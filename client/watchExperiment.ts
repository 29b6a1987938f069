import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { ExperimentProgress } from './experimentRunResults.ts';
import { pause, type ServiceClient } from './http.ts';
import { untilAnswered } from './untilAnswered.ts';

/** Milliseconds that the service waits for the end of a run before it answers that it goes on. */
const END_WAIT_MS = 20_000;
const MIN_BETWEEN_ASKING_MS = 500;
const PROGRESS_EVERY_MS = 1_000;
/** Figures so far come with each of so many reports: the service reads all values for them. */
const REPORTS_PER_FIGURES = 10;

export interface WatchExperimentOptions extends OperationOptions {
  experimentId: string;
  /** Called about once a second, and with the end. */
  onProgress?: ((progress: ExperimentProgress) => void) | undefined;
  /** Stops the waiting; the run goes on. */
  signal?: AbortSignal | undefined;
}

/**
 * Waits for the end of an experiment's run, also over a restart of the service, and gives how it ended. A run that was never started, and a filled
 * experiment that has none, is answered at once as it is (`idle`).
 * @throws ConnectionError or HttpStatusError after ten minutes without an answer
 */
export async function watchExperiment(options: WatchExperimentOptions): Promise<ExperimentProgress> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const run = { client, path: `/projects/${projectId}/experiments/${options.experimentId}` };
  const now = await progressOf(run, options.signal);
  if (now.state === 'idle') return now;
  options.onProgress?.(now);
  const ended = new AbortController();
  const reporting = options.onProgress ? reportProgress(run, options.onProgress, ended.signal) : undefined;
  try {
    const end = await untilEnded(run, options.signal);
    ended.abort();
    options.onProgress?.(end);
    return end;
  } finally {
    ended.abort();
    await reporting;
  }
}

/** The path of an experiment, below which its run is. */
export interface RunPath {
  client: ServiceClient;
  path: string;
}

/** The end of a run that goes on. */
export const untilEnded = (run: RunPath, signal: AbortSignal | undefined): Promise<ExperimentProgress> =>
  untilAnswered(
    async () => {
      const progress = await progressOf(run, signal, { wait_ms: END_WAIT_MS });
      return hasEnded(progress) ? progress : undefined;
    },
    MIN_BETWEEN_ASKING_MS,
    signal,
  );

/** Reports about once a second how far the run is, with the figures of at most ten seconds ago, until the signal. */
export async function reportProgress(
  run: RunPath,
  onProgress: (progress: ExperimentProgress) => void,
  ended: AbortSignal,
): Promise<void> {
  let figures: ExperimentProgress['figures'];
  for (let report = 0; ; report++) {
    await pause(PROGRESS_EVERY_MS, ended).catch(() => undefined);
    if (ended.aborted) return;
    const query = report % REPORTS_PER_FIGURES === 0 ? { figures: true } : {};
    const progress = await progressOf(run, ended, query).catch(() => undefined);
    figures = progress?.figures ?? figures;
    if (progress && !ended.aborted) onProgress({ ...progress, figures });
  }
}

/** @param query `wait_ms`: milliseconds for which the service waits for the run's end */
export const progressOf = (
  { client, path }: RunPath,
  signal: AbortSignal | undefined,
  query: { wait_ms?: number; figures?: boolean } = {},
): Promise<ExperimentProgress> => client.send(`${path}/progress`, { query, signal });

export const hasEnded = ({ state }: Pick<ExperimentProgress, 'state'>): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';
