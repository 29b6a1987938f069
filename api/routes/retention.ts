import { ServiceError } from '../../shared/errors/errors.ts';
import type { Expiries, FindWouldExpire, Retention, RetentionStore } from '../../shared/projects/retention.ts';
import { NoQuery } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { RetentionEffect, RetentionEffectQuery, RetentionRequest, RetentionResponse } from '../../shared/wire/retention.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface RetentionDeps {
  retention: RetentionStore;
  expiries: Pick<Expiries, 'forget'>;
  wouldExpire: FindWouldExpire;
}

const DAY_MS = 86_400_000;

const tag = 'Projects';
const path = '/projects/{project_id}/retention';

/** How long a project keeps its records. */
export const retentionRoutes = ({ retention, expiries, wouldExpire }: RetentionDeps): Endpoint[] => [
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
    method: 'get',
    path: `${path}/effect`,
    summary: 'What a retention would take of a project now',
    description:
      'Ask before you make it shorter. Counted are traces that are shown now and would not be. Nothing is changed. A session goes with its last trace.',
    tag,
    access: { project: 'read' },
    params: ProjectParams,
    query: RetentionEffectQuery,
    response: RetentionEffect,
    async handle({ project, query }) {
      const before = new Date(Date.now() - query.retention_days * DAY_MS).toISOString();
      const { expired_before: already } = describe(project.id, await retention.get(project.id));
      const effect = await wouldExpire(project.id, before, already);
      return { project_id: project.id, retention_days: query.retention_days, expired_before: before, ...effect };
    },
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
