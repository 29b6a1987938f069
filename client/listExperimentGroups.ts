import type { z } from 'zod';
import type { ExperimentGroupResponse as GroupSchema } from '../shared/wire/experimentGroups.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { Pages } from './pages.ts';

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
