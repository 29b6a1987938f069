import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { requiredName } from './createExperiment.ts';
import { type Experiment, withAggregates } from './experimentAggregates.ts';
import type { ServiceClient } from './http.ts';

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
