import type { DatasetStore } from '../datasets/dataset.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { resolveMetrics } from '../scorers/resolveMetrics.ts';
import { usableScorers } from '../scorers/usableScorers.ts';
import type { ExperimentCreateRequest } from '../wire/experiments.ts';
import type { Creation, DatasetVersionRef, Experiment, ExperimentStore } from './experimentStore.ts';
import { mustSuitFailedRows } from './failedRows.ts';
import { chosenGroup, defaultGroup } from './groups.ts';
import { type LaunchDeps, launch } from './launch.ts';
import { loggedMetricsOf } from './metricScales.ts';

/** The reads of datasets that experiments need. */
export type DatasetLookup = Pick<DatasetStore, 'find' | 'version' | 'link'>;

export interface CreateDeps extends LaunchDeps {
  experiments: ExperimentStore;
  datasets: DatasetLookup;
  newId: () => string;
}

/**
 * Creates an experiment, and with `trigger` starts its run. What refuses the run takes the experiment back, so that nothing half-made stays.
 * Names need not be unique: ids identify experiments. A creation repeated with its key gives the first one's experiment, and starts its run
 * where a crash came between.
 * @throws ServiceError `ExperimentGroupNotFound`; `NotFound` for an unknown dataset, version or template; `Conflict` when the key came with
 * another request; RequestInvalid for an unknown metric; what `requestRun` refuses.
 */
export async function createExperiment(
  deps: CreateDeps,
  projectId: string,
  createdBy: string,
  request: ExperimentCreateRequest,
  creation: Creation | null,
): Promise<Experiment> {
  const repeated = creation && (await earlier(deps, projectId, createdBy, creation));
  if (repeated) return request.trigger && repeated.state === 'idle' ? start(deps, repeated, request, undefined) : repeated;
  if (request.trigger && !request.dataset)
    throw new RequestInvalid([{ loc: ['body', 'dataset'], msg: 'trigger needs a dataset to run over', type: 'missing' }]);
  const dataset = request.dataset
    ? await chosenDataset(deps.datasets, request.dataset.dataset_id, request.dataset.version_index)
    : null;
  if (request.prompt_template_version_id) await mustHaveTemplate(deps.experiments, request.prompt_template_version_id);
  const metrics = request.scorers ? await resolveMetrics(usableScorers(deps.scorers, [projectId]), request.scorers) : null;
  const failedRows = request.failed_rows ?? 'omit';
  const loggedMetrics = loggedMetricsOf(request.logged_metrics);
  mustSuitFailedRows(failedRows, metrics ?? [], loggedMetrics);
  const id = deps.newId();
  const inserted = await deps.experiments.insert({
    id,
    projectId,
    name: request.name,
    taskType: request.task_type,
    createdBy,
    group: chosenGroup(request) ?? defaultGroup(dataset?.name),
    dataset,
    promptTemplateVersionId: request.prompt_template_version_id ?? null,
    promptSettings: request.prompt_settings ?? null,
    playgroundId: request.playground_id ?? null,
    playgroundPromptId: request.playground_prompt_id ?? null,
    rows: request.rows ?? null,
    trials: request.trials ?? 1,
    scorers: metrics?.map((metric) => metric.config) ?? null,
    loggedMetrics,
    failedRows,
    creation,
  });
  // The same creation came twice at once: this one takes what the other made.
  if (!inserted) return createExperiment(deps, projectId, createdBy, request, creation);
  const experiment = await created(deps, projectId, id);
  const ready = request.trigger ? await start(deps, experiment, request, inserted.newGroupId) : experiment;
  if (dataset) await deps.datasets.link(dataset.id, projectId);
  return ready;
}

async function earlier(deps: CreateDeps, projectId: string, createdBy: string, creation: Creation) {
  const found = await deps.experiments.created(projectId, createdBy, creation.key);
  if (!found) return undefined;
  if (found.requestHash !== creation.requestHash)
    throw new ServiceError(
      'Conflict',
      'this Idempotency-Key came with another request before: use a new key for a new experiment',
    );
  return deps.experiments.find(projectId, found.experimentId);
}

async function start(
  deps: CreateDeps,
  experiment: Experiment,
  request: ExperimentCreateRequest,
  newGroupId: string | undefined,
): Promise<Experiment> {
  const { id, projectId } = experiment;
  try {
    await launch(deps, experiment, { ...request, project_id: projectId, run_id: id }, { after: experiment.workflowNumber });
  } catch (err) {
    const current = await deps.experiments.find(projectId, id);
    // The request to run is kept once it is committed: the run starts by itself, so the creation has succeeded.
    if (current && current.state !== 'idle') return current;
    await deps.experiments.discard(id, newGroupId);
    throw err;
  }
  return created(deps, projectId, id);
}

async function created(deps: CreateDeps, projectId: string, id: string): Promise<Experiment> {
  const experiment = await deps.experiments.find(projectId, id);
  if (!experiment) throw new ServiceError('NotFound', `the experiment ${id} was deleted while it was being created`);
  return experiment;
}

/**
 * A version of a dataset, the current one by default.
 * @throws ServiceError `NotFound` when there is none.
 */
export async function chosenDataset(
  datasets: DatasetLookup,
  datasetId: string,
  versionIndex: number | undefined,
): Promise<DatasetVersionRef> {
  const dataset = await datasets.find({ id: datasetId });
  const version = dataset && (await datasets.version(datasetId, versionIndex));
  if (!dataset) throw new ServiceError('NotFound', `no dataset ${datasetId}`);
  if (!version) throw new ServiceError('NotFound', `the dataset ${JSON.stringify(dataset.name)} has no version ${versionIndex}`);
  return { id: datasetId, versionIndex: version.versionIndex, name: dataset.name };
}

/** @throws ServiceError `NotFound` */
export async function mustHaveTemplate(experiments: Pick<ExperimentStore, 'templateOfVersion'>, versionId: string) {
  const template = await experiments.templateOfVersion(versionId);
  if (!template) throw new ServiceError('NotFound', `no prompt template version ${versionId}`);
  return template;
}
