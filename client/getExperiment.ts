import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { requiredName } from './createExperiment.ts';
import { type Experiment, withAggregates } from './experimentAggregates.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

/**
 * The experiment of a name, the newest where several have it; undefined when there is none.
 * @throws ValueError without a name or a project.
 */
export async function getExperiment(options: OperationOptions & { experimentName: string }): Promise<Experiment | undefined> {
  const name = requiredName(options.experimentName);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const found = await client.send<{ experiments: ExperimentResponse[] }>(`/projects/${projectId}/experiments/search`, {
    body: { filters: [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }], starting_token: 0, limit: 1 },
    repeatable: true,
  });
  const [experiment] = found.experiments;
  return experiment && withAggregates(experiment);
}
