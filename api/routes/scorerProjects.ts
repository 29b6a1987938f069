import { z } from 'zod';
import type { AccountStore } from '../../shared/accounts/accountStore.ts';
import { type Caller, mayInOrganization, projectPermissions, roleInProject } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ProjectQuery, ProjectStore } from '../../shared/projects/projectStore.ts';
import { viewerOf } from '../../shared/projects/projects.ts';
import { isGlobal } from '../../shared/scorers/listScorers.ts';
import { getScorer, setScope } from '../../shared/scorers/manageScorers.ts';
import type { PresetVersionStore } from '../../shared/scorers/presetVersions.ts';
import type { ScorerStore, ScorerUse } from '../../shared/scorers/scorer.ts';
import { PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import { ScorerProjectsResponse, ScorerResponse, UpdateScorerScopeRequest } from '../../shared/wire/scorers.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { describedScorer } from '../scorers/scorerView.ts';
import { toUserInfo } from '../views/users.ts';

export interface ScorerProjectRouteDeps {
  scorers: ScorerStore;
  presetVersions: Pick<PresetVersionStore, 'findById'>;
  projects: Pick<ProjectStore, 'find' | 'count'>;
  accounts: Pick<AccountStore, 'usersById'>;
  assets: AssetAccess;
  gate: Pick<Gate, 'authorize'>;
}

const tag = 'Scorers';
const ScorerPath = z.object({ scorer_id: Uuid });

/** Routes that say who sees a scorer, and which projects use it. */
export function scorerProjectRoutes({
  scorers,
  presetVersions,
  projects,
  accounts,
  assets,
  gate,
}: ScorerProjectRouteDeps): Endpoint[] {
  const versionById = async (id: string) => (await scorers.findVersionById(id)) ?? presetVersions.findById(id);
  const page = async (caller: Caller, used: ReadonlyMap<string, ScorerUse>, asked: PageRequest) => {
    const query: ProjectQuery = { filters: [{ name: 'id', operator: 'one_of', value: [...used.keys()] }] };
    const { items, hasMore } = await projects.find(viewerOf(caller), query, { offset: asked.starting_token, limit: asked.limit });
    const users = await accounts.usersById(items.map(({ createdBy }) => createdBy));
    return {
      ...pageFields(asked, items.length, hasMore),
      projects: items.flatMap((project) => {
        const role = roleInProject(caller, project.id, project.membership);
        const creator = users.get(project.createdBy);
        return role
          ? [
              {
                id: project.id,
                permissions: projectPermissions(role),
                name: project.name,
                created_at: project.createdAt.toISOString(),
                updated_at: project.updatedAt.toISOString(),
                bookmark: false,
                num_logstreams: used.get(project.id)?.logStreams ?? 0,
                num_experiments: used.get(project.id)?.experiments ?? 0,
                created_by_user: creator ? toUserInfo(creator) : null,
              },
            ]
          : [];
      }),
      total_count: await projects.count(viewerOf(caller), query),
    };
  };
  return [
    endpoint({
      method: 'put',
      path: '/scorers/{scorer_id}/scope',
      errors: ['NotFound', 'Conflict'],
      summary: 'Replace who sees and uses a scorer: the organization, or some projects',
      description:
        'Only administrators make a scorer global. Of projects that it gets or loses the caller must be an editor. Runs that use it go on.',
      tag,
      access: { asset: 'scorer', action: 'share' },
      params: ScorerPath,
      body: UpdateScorerScopeRequest,
      response: ScorerResponse,
      async handle({ params, body, caller }) {
        const before = await getScorer(scorers, params.scorer_id);
        if (body.is_global && !isGlobal(before) && !mayInOrganization(caller, 'manage_users'))
          throw new ServiceError('Forbidden', 'only administrators make a scorer global');
        const [had, gets] = [new Set(before.scopeProjects.map(({ id }) => id)), new Set(body.project_ids)];
        for (const id of [...had, ...gets])
          if (had.has(id) !== gets.has(id)) await gate.authorize(caller, { project: 'update' }, id);
        const scope = { organization: body.is_global, projectIds: body.project_ids };
        const scorer = await setScope(scorers, before.id, scope);
        return describedScorer({ assets, scorers }, caller, scorer);
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/{scorer_id}/projects',
      summary: 'Projects with a log stream or an experiment that has the scorer switched on',
      description: 'Those that you see, the newest first.',
      tag,
      access: { asset: 'scorer', action: 'read' },
      params: ScorerPath,
      query: PageQuery,
      response: ScorerProjectsResponse,
      handle: async ({ params, query, caller }) => page(caller, await scorers.usedIn(params.scorer_id), query),
    }),
    endpoint({
      method: 'get',
      path: '/scorers/versions/{scorer_version_id}/projects',
      errors: ['NotFound'],
      summary: 'Projects with a run that computes with this version of a scorer',
      description: 'Those that you see, the newest first. A run whose settings name no version computes with the default one.',
      tag,
      access: {
        asset: 'scorer',
        action: 'read',
        idOf: async ({ scorer_version_id }) => (await versionById(scorer_version_id as string))?.scorerId,
      },
      params: z.object({ scorer_version_id: Uuid }),
      query: PageQuery,
      response: ScorerProjectsResponse,
      async handle({ params, query, caller }) {
        const version = await versionById(params.scorer_version_id);
        if (!version) throw new ServiceError('NotFound', `no scorer has a version with the id ${params.scorer_version_id}`);
        return page(caller, await scorers.usedIn(version.scorerId, version.id), query);
      },
    }),
  ];
}
