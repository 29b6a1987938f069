import { ServiceError } from '../errors/errors.ts';
import type { ExperimentStore } from '../experiments/experimentStore.ts';
import { mustHaveEnded } from './mustHaveEnded.ts';

/**
 * Approves an experiment as a baseline of later runs of its series.
 * @param by who approves; null takes the approval back, whatever became of the run
 * @throws ServiceError `NotFound`, and `Conflict` for one that nothing could be held against: it has not run to its end, or all its rows failed
 */
export async function approveExperiment(
  { find, approve }: Pick<ExperimentStore, 'find' | 'approve'>,
  projectId: string,
  experimentId: string,
  by: string | null,
): Promise<void> {
  if (by !== null) {
    const experiment = await find(projectId, experimentId);
    if (experiment) mustBeFit(experiment);
  }
  if (!(await approve(projectId, experimentId, by)))
    throw new ServiceError('NotFound', `no experiment ${experimentId} in this project`);
}

function mustBeFit(experiment: NonNullable<Awaited<ReturnType<ExperimentStore['find']>>>): void {
  mustHaveEnded(experiment);
  const { rows = 0, rowsFailed } = experiment.aggregates ?? {};
  if (rows > 0 && rows === rowsFailed)
    throw new ServiceError(
      'Conflict',
      `all ${rows} rows of ${JSON.stringify(experiment.name)} failed: nothing can be held against it`,
    );
}
