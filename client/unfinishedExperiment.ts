import type { z } from 'zod';
import type { ProgressReply, RunnerRequest } from '../shared/wire/experimentRuns.ts';
import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import type { ServiceClient } from './http.ts';
import { mayBeOf, type RowSelection } from './rowSelection.ts';

type Progress = z.output<typeof ProgressReply>;

/** The properties by which a script finds the experiment that it left unfinished. */
export interface Likeness {
  name: string;
  runner: z.output<typeof RunnerRequest>['kind'];
  fits(experiment: ExperimentResponse): boolean;
  /** Number of records, where the rows are records. */
  recordCount: number | undefined;
  trials: number;
  rows: RowSelection | undefined;
}

/** The name with the time, for an experiment whose name is taken: what the published clients do. */
export const timedName = (name: string, now: Date): string =>
  `${name} ${now.toISOString().slice(0, 10)} at ${now.toISOString().slice(11, 23)}`;

/** The newest experiment of this name (or of its series) when its run has not ended and it is alike. */
export async function unfinishedExperiment(
  client: ServiceClient,
  projectId: string,
  experiments: readonly ExperimentResponse[],
  like: Likeness,
): Promise<{ experiment: ExperimentResponse; progress: Progress } | undefined> {
  const experiment = experiments.find((one) => one.name === like.name || one.series === like.name);
  if (!experiment || !like.fits(experiment)) return undefined;
  const progress = await client.send<Progress>(`/projects/${projectId}/experiments/${experiment.id}/progress`);
  const goesOn = progress.state === 'requested' || progress.state === 'running' || progress.state === 'paused';
  const { trials, rows_total: executions, row_selection: frozen } = progress;
  const sameRows =
    trials === like.trials &&
    mayBeOf(frozen, like.rows) &&
    (like.recordCount === undefined || like.recordCount === (frozen?.of ?? executions / trials));
  return goesOn && progress.runner === like.runner && sameRows ? { experiment, progress } : undefined;
}
