import { type CostSources, integrationCosts } from '../../shared/integrations/costs.ts';
import type { ProjectStore } from '../../shared/projects/projectStore.ts';
import { viewerOf } from '../../shared/projects/projects.ts';
import { IntegrationCostsQuery, IntegrationCostsResponse } from '../../shared/wire/integrationCosts.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface IntegrationCostRouteDeps {
  costs: CostSources;
  projects: Pick<ProjectStore, 'find'>;
}

/** Routes that report the cost of calls through integrations. */
export const integrationCostRoutes = ({ costs, projects }: IntegrationCostRouteDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/integrations/costs/summary',
    summary: 'What the calls through integrations cost, by feature, project and time',
    description:
      'In US dollars, of the projects that you see. Of the model calls of prompt experiments and of the playground, and of the judges of metrics: as their records and scores say it. A call without a known price is not counted, nor is one whose record was deleted.',
    tag: 'Integrations',
    access: { organization: 'read_integrations' },
    query: IntegrationCostsQuery,
    response: IntegrationCostsResponse,
    async handle({ query, caller }) {
      const { items } = await projects.find(viewerOf(caller), { filters: [] });
      return integrationCosts(costs, items, { from: query.start_time, to: query.end_time, interval: query.interval });
    },
  }),
];
