import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { ExperimentRun } from './experiment.ts';

/**
 * Finds the run of an experiment of a project.
 * @throws ServiceError `NotFound` when the project has no such experiment
 */
export async function runOfProject(
  find: (experimentId: string) => Promise<ExperimentRun | undefined>,
  { projectId, runId }: RunRef,
): Promise<ExperimentRun> {
  const run = await find(runId);
  if (run?.projectId !== projectId) throw new ServiceError('NotFound', `no experiment ${runId} in this project`);
  return run;
}
