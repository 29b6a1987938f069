import { ServiceError } from '../../shared/errors/errors.ts';
import type { Expiries, Retention, RetentionStore } from '../../shared/projects/retention.ts';
import { NoQuery } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { RetentionRequest, RetentionResponse } from '../../shared/wire/retention.ts';
import { type Endpoint, endpoint } from '../route.ts';

export interface RetentionDeps {
  retention: RetentionStore;
  expiries: Pick<Expiries, 'forget'>;
}

const tag = 'Projects';
const path = '/projects/{project_id}/retention';

/** How long a project keeps its records. */
export const retentionRoutes = ({ retention, expiries }: RetentionDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path,
    summary: 'How long a project keeps its records',
    tag,
    access: { project: 'read' },
    query: NoQuery,
    params: ProjectParams,
    response: RetentionResponse,
    handle: async ({ project }) => describe(project.id, await retention.get(project.id)),
  }),
  endpoint({
    method: 'put',
    path,
    summary: 'Change how long a project keeps its records',
    description:
      'Days of 24 hours, or null for ever. It applies at once: what is older is shown by no read, and is deleted within a day. A trace goes as a whole, when its newest record is that old; what is deleted does not come back when the time is made longer again.',
    tag,
    access: { project: 'delete_data' },
    params: ProjectParams,
    body: RetentionRequest,
    response: RetentionResponse,
    async handle({ project, body }) {
      const changed = await retention.set(project.id, body.retention_days);
      expiries.forget();
      return describe(project.id, changed);
    },
  }),
];

function describe(projectId: string, retention: Retention | undefined) {
  // Deleted between the check of access and here.
  if (!retention) throw new ServiceError('NotFound', 'no such project');
  return { project_id: projectId, retention_days: retention.days, expired_before: retention.expiredBefore };
}
