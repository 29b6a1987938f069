import type { ScorerStore } from '../scorers/scorer.ts';
import { scorerJobRequest } from '../scorers/scorerJob.ts';
import { RUN_JOB, SCORER_JOB } from '../wire/jobs.ts';
import { type ExperimentRun, jobIdOf } from './experiment.ts';
import type { Experiment, JobStore } from './experimentStore.ts';
import { type DefinedPrompt, definedRunner, type RunRequest } from './prepareRun.ts';

/** Checks and starts the run of an experiment; asked again while it goes on, gives that run. */
export type RequestRun = (experimentId: string, request: RunRequest) => Promise<{ run: ExperimentRun; started: boolean }>;

export interface LaunchDeps {
  jobs: JobStore;
  scorers: ScorerStore;
  requestRun: RequestRun;
}

/**
 * Starts the run that an experiment's template, or the outputs in its dataset, define, and keeps its jobs: one for the run and one for each of
 * its metrics. Their ids follow from the run, so that a repeated start keeps and gives the same ones.
 * @param start the experiment's workflow number when this was decided on, and what of the experiment the request changes
 * @returns the id of the run's own job
 */
export async function launch(
  deps: LaunchDeps,
  experiment: Pick<Experiment, 'id' | 'projectId'> & DefinedPrompt,
  request: Record<string, unknown>,
  start: Pick<RunRequest, 'change'> & { after: number },
): Promise<{ jobId: string; run: ExperimentRun; started: boolean }> {
  const { run, started } = await deps.requestRun(experiment.id, { ...start, runner: definedRunner(experiment) });
  const { id: runId, projectId } = experiment;
  const { workflowNumber } = run;
  const jobId = jobIdOf(run);
  const metrics = (await deps.scorers.runSettings(projectId, runId))?.scorers ?? [];
  await deps.jobs.insert([
    { id: jobId, projectId, runId, name: RUN_JOB, request, workflowNumber },
    ...metrics.map((config) => ({
      id: jobIdOf(run, config.id),
      projectId,
      runId,
      name: SCORER_JOB,
      request: scorerJobRequest(projectId, runId, config),
      workflowNumber,
    })),
  ]);
  return { jobId, run, started };
}
