import type { z } from 'zod';
import type { ExperimentGroupResponse as GroupSchema } from '../shared/wire/experimentGroups.ts';
import type { ExperimentFilterTree, ExperimentResponse } from '../shared/wire/experiments.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';
import { type Experiment, withAggregates } from './experimentAggregates.ts';
import type { ServiceClient } from './http.ts';
import { Pages } from './pages.ts';

/** The group that an experiment goes to. The id wins over the name; a name that the project lacks becomes a new group. */
export interface ExperimentGroupChoice {
  experimentGroup?: string | undefined;
  experimentGroupId?: string | undefined;
}

export interface CreateExperimentOptions extends OperationOptions, ExperimentGroupChoice {
  experimentName: string;
}

/**
 * Creates an experiment without running it. Sent with a key of its own, so that a repeat after a broken connection makes no second one.
 * @returns the experiment as the service gives it (keys in snake_case)
 * @throws ValueError without a name or a project; NotFoundError with `errorCode` 3520 for a group id that is not in the project.
 */
export async function createExperiment(options: CreateExperimentOptions): Promise<ExperimentResponse> {
  const name = requiredName(options.experimentName);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.send(`/projects/${projectId}/experiments`, {
    body: { name, task_type: 16, ...groupKeys(options) },
    headers: { 'idempotency-key': crypto.randomUUID() },
    repeatable: true,
  });
}

/** @throws ValueError */
export function requiredName(name: unknown): string {
  if (typeof name !== 'string' || name.trim() === '') throw new ValueError('experimentName must be given: a text');
  return name;
}

/** The group as creation takes it: the id, else the name, else nothing and the service chooses. */
export const groupKeys = ({ experimentGroup, experimentGroupId }: ExperimentGroupChoice): Record<string, string> =>
  experimentGroupId
    ? { experiment_group_id: experimentGroupId }
    : experimentGroup
      ? { experiment_group_name: experimentGroup }
      : {};

/**
 * The newest run of a name, of all that have it with or without a time behind it; of the whole name of one run, that run. Undefined when there is none.
 * @throws ValueError without a name or a project.
 */
export async function getExperiment(options: OperationOptions & { experimentName: string }): Promise<Experiment | undefined> {
  const name = requiredName(options.experimentName);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const [experiment] = await runsOfName(client, projectId, name, 1);
  return experiment && withAggregates(experiment);
}

/** The runs of a series, newest first; where no series is called so, those with the name. */
export async function runsOfName(
  client: ServiceClient,
  projectId: string,
  name: string,
  limit: number,
): Promise<ExperimentResponse[]> {
  for (const column of ['series', 'name']) {
    const filters = [{ name: column, operator: 'eq', value: name, case_sensitive: true }];
    const { experiments } = await client.send<{ experiments: ExperimentResponse[] }>(
      `/projects/${projectId}/experiments/search`,
      { body: { filters, starting_token: 0, limit }, repeatable: true },
    );
    if (experiments.length > 0) return experiments;
  }
  return [];
}

/**
 * The experiments of a project, newest first; with a group, only those in it, and with a filter those that it finds. Both group filters are sent where both are given: the service
 * says which counts.
 * @throws ValueError without a project; HttpStatusError when the service refuses the search (its `body` holds the validation errors of a 422).
 */
export async function getExperiments(
  options: OperationOptions & ExperimentGroupChoice & { filterTree?: ExperimentFilterTree | undefined } = {},
): Promise<Experiment[]> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const { experimentGroup, experimentGroupId, filterTree } = options;
  if (!experimentGroup && !experimentGroupId && !filterTree)
    return (await client.send<ExperimentResponse[]>(`/projects/${projectId}/experiments`)).map(withAggregates);
  const filters = [
    ...(experimentGroupId ? [{ name: 'experiment_group_id', value: experimentGroupId }] : []),
    ...(experimentGroup ? [{ name: 'experiment_group_name', operator: 'eq', value: experimentGroup, case_sensitive: true }] : []),
  ];
  return (await searchExperiments(client, projectId, filters, filterTree)).map(withAggregates);
}

/** All experiments that match, newest first. */
export const searchExperiments = (
  client: ServiceClient,
  projectId: string,
  filters: Record<string, unknown>[],
  filterTree?: ExperimentFilterTree,
): Promise<ExperimentResponse[]> =>
  new Pages(async (startingToken) => {
    const page = await client.send<{ experiments: ExperimentResponse[]; next_starting_token: number | null }>(
      `/projects/${projectId}/experiments/search`,
      { body: { filters, filter_tree: filterTree, starting_token: startingToken, limit: 100 }, repeatable: true },
    );
    return { items: page.experiments, nextStartingToken: page.next_starting_token ?? null };
  }).all();

export type ExperimentGroupResponse = z.output<typeof GroupSchema>;

/**
 * All experiment groups of a project.
 * @throws ValueError without a project; HttpStatusError when the service refuses.
 */
export async function listExperimentGroups(options: OperationOptions = {}): Promise<ExperimentGroupResponse[]> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return new Pages(async (startingToken) => {
    const page = await client.send<{ experiment_groups: ExperimentGroupResponse[]; next_starting_token: number | null }>(
      `/projects/${projectId}/experiment-groups/query`,
      { body: { starting_token: startingToken, limit: 100 }, repeatable: true },
    );
    return { items: page.experiment_groups, nextStartingToken: page.next_starting_token ?? null };
  }).all();
}

export interface ApproveExperimentOptions extends OperationOptions {
  experimentId: string;
  /** False takes the approval back. */
  approved?: boolean | undefined;
}

/**
 * Approves an experiment as a baseline: a gate with the pick `approved` takes the newest of a series that is approved.
 * @throws NotFoundError where there is no such experiment in the project
 */
export async function approveExperiment(options: ApproveExperimentOptions): Promise<void> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  await client.send(`/projects/${projectId}/experiments/${options.experimentId}/approval`, {
    method: options.approved === false ? 'DELETE' : 'PUT',
    repeatable: true,
  });
}
