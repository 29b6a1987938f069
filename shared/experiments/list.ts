import type { Page, PageOf } from '../accounts/accountStore.ts';
import { inPieces } from '../concurrency/inPieces.ts';
import { ServiceError } from '../errors/errors.ts';
import type { ExperimentUpdateRequest } from '../wire/experiments.ts';
import { hasEnded } from './experiment.ts';
import type { Experiment, ExperimentQuery, ExperimentStore } from './experimentStore.ts';
import { chosenGroup } from './groups.ts';
import { type ExperimentView, experimentViews, type ViewDeps } from './response.ts';

export interface ExperimentDeps extends ViewDeps {
  experiments: ExperimentStore;
}

/** A page of the experiments of a project with their progress. Of two group filters the id is used and the name ignored. */
export async function listExperiments(
  deps: ExperimentDeps,
  projectId: string,
  query: ExperimentQuery,
  withCounts: boolean,
  page: Page,
): Promise<PageOf<ExperimentView>> {
  const { items, hasMore } = await deps.experiments.list(projectId, { ...query, filters: withOneGroup(query.filters) }, page);
  return { items: await inPieces(items, (piece) => experimentViews(deps, projectId, piece, withCounts)), hasMore };
}

/** How many experiments of a project the filters find, which mean what they mean in a list. */
export const countExperiments = (
  { experiments }: Pick<ExperimentDeps, 'experiments'>,
  projectId: string,
  { filters, filter_tree }: ExperimentQuery,
): Promise<number> => experiments.count(projectId, { filters: withOneGroup(filters), filter_tree });

function withOneGroup(filters: ExperimentQuery['filters']): ExperimentQuery['filters'] {
  const byGroupId = filters.some((filter) => filter.name === 'experiment_group_id');
  return byGroupId ? filters.filter((filter) => filter.name !== 'experiment_group_name') : filters;
}

/** All experiments of a project, newest first. */
export async function allExperiments(deps: ExperimentDeps, projectId: string, withCounts: boolean): Promise<ExperimentView[]> {
  return inPieces(await deps.experiments.ids(projectId), async (ids) =>
    experimentViews(deps, projectId, await deps.experiments.byIds(projectId, ids), withCounts),
  );
}

/** @throws ServiceError `NotFound` */
export async function getExperiment(deps: ExperimentDeps, projectId: string, experimentId: string): Promise<ExperimentView> {
  const experiment = await deps.experiments.find(projectId, experimentId);
  return view(deps, experiment ?? unknown(experimentId));
}

/** One experiment, with its counts: only lists are asked for them. */
export async function view(deps: ExperimentDeps, experiment: Experiment): Promise<ExperimentView> {
  const [viewed] = await experimentViews(deps, experiment.projectId, [experiment], true);
  return viewed as ExperimentView;
}

/**
 * Renames an experiment, and moves it where a group is given; without one it stays in its group.
 * @throws ServiceError `NotFound`, `ExperimentGroupNotFound`
 */
export async function updateExperiment(
  deps: ExperimentDeps,
  projectId: string,
  experimentId: string,
  request: ExperimentUpdateRequest,
  by: string,
): Promise<ExperimentView> {
  const experiment = await deps.experiments.update(projectId, experimentId, {
    name: request.name,
    taskType: request.task_type ?? undefined,
    group: chosenGroup(request),
    by,
  });
  return view(deps, experiment ?? unknown(experimentId));
}

export interface DeleteExperimentDeps {
  experiments: ExperimentStore;
  /** Stops a run that goes on. */
  cancelRun(experimentId: string): Promise<void>;
  /** Deletes a run's metadata and records. False when there is none. */
  deleteRun(projectId: string, runId: string): Promise<boolean>;
}

/**
 * Deletes an experiment with its records. Its run, where one goes on, is stopped first.
 * @throws ServiceError `NotFound`
 */
export async function deleteExperiment(deps: DeleteExperimentDeps, projectId: string, experimentId: string): Promise<void> {
  const experiment = await deps.experiments.find(projectId, experimentId);
  if (!experiment) unknown(experimentId);
  if (experiment.state !== 'idle' && !hasEnded(experiment.state)) await deps.cancelRun(experimentId);
  if (!(await deps.deleteRun(projectId, experimentId))) unknown(experimentId);
}

function unknown(experimentId: string): never {
  throw new ServiceError('NotFound', `no experiment ${experimentId} in this project`);
}
