import type { ExperimentFilterTree, ExperimentResponse } from '../shared/wire/experiments.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { ExperimentGroupChoice } from './createExperiment.ts';
import { type Experiment, withAggregates } from './experimentAggregates.ts';
import type { ServiceClient } from './http.ts';
import { Pages } from './pages.ts';

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
