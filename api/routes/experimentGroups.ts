import type { ExperimentGroup, ExperimentGroupStore } from '../../shared/experiments/experimentStore.ts';
import { pageFields } from '../../shared/wire/common.ts';
import { ExperimentGroupPage, ExperimentGroupQuery } from '../../shared/wire/experimentGroups.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

/** Groups come into being with the experiments that name them; this lists them. */
export function experimentGroupRoutes({ groups }: { groups: ExperimentGroupStore }): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/experiment-groups/query',
      summary: 'Experiment groups of a project',
      description: 'Newest first. The system group `Ungrouped` is among them once an experiment is in it.',
      tag: 'Experiments',
      access: { project: 'read' },
      params: ProjectParams,
      body: ExperimentGroupQuery,
      response: ExperimentGroupPage,
      handle: async ({ project, body }) => {
        const { items, hasMore } = await groups.list(project.id, { offset: body.starting_token, limit: body.limit });
        return { ...pageFields(body, items.length, hasMore), experiment_groups: items.map(toWire) };
      },
    }),
  ];
}

const toWire = (group: ExperimentGroup) => ({
  id: group.id,
  name: group.name,
  project_id: group.projectId,
  created_at: group.createdAt.toISOString(),
  updated_at: group.updatedAt.toISOString(),
  description: group.description,
  is_system: group.isSystem,
  experiment_count: group.experimentCount,
  latest_run_date: group.latestRunDate?.toISOString() ?? null,
  datasets: group.datasets,
  created_by: group.createdBy?.id ?? null,
  created_by_user: group.createdBy,
});
