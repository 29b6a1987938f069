import { z } from 'zod';
import type { AssetAction, Caller } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { mustNameOne } from '../../shared/assets/onlyOne.ts';
import { listScorers } from '../../shared/scorers/listScorers.ts';
import { createScorer, deleteScorer, getScorer, updateScorer } from '../../shared/scorers/manageScorers.ts';
import { presets } from '../../shared/scorers/presets.ts';
import { addPresetVersion, getPresetVersion, type PresetVersionStore } from '../../shared/scorers/presetVersions.ts';
import type { Scorer, ScorerStore } from '../../shared/scorers/scorer.ts';
import { withRequiredScorers } from '../../shared/scorers/scorerNeeds.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { addJudgeVersion, addTunedVersion, getVersion, restoreVersion } from '../../shared/scorers/scorerVersions.ts';
import { Message, PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import { ListScorersRequest, ListScorersResponse, ListScorerVersionsResponse } from '../../shared/wire/scorerLists.ts';
import { CreateScorerRequest, ScorerAction, ScorerResponse, UpdateScorerRequest } from '../../shared/wire/scorers.ts';
import {
  CreateLlmScorerVersionRequest,
  CreateLunaScorerVersionRequest,
  CreateScorerVersionRequest,
  ScorerVersionResponse,
} from '../../shared/wire/scorerVersions.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { presetToVersion, toVersion, VersionNumber } from '../scorers/scorerVersions.ts';
import { describedScorer, mayWith, toScorer } from '../scorers/scorerView.ts';

const tag = 'Scorers';
const ScorerPath = z.object({ scorer_id: Uuid });
const actions = z
  .union([ScorerAction, z.array(ScorerAction)])
  .optional()
  .transform((given) => [given ?? []].flat());
const read = { organization: 'read_assets' } as const;
const write = { organization: 'write_assets' } as const;
const needs = (action: AssetAction) => ({ asset: 'scorer', action }) as const;

export interface ScorerRouteDeps {
  scorers: ScorerStore;
  gate: Pick<Gate, 'authorize'>;
  assets: AssetAccess;
  presetVersions: PresetVersionStore;
}

/** Metric definitions: users' own, and the built-in ones among them. */
export function scorerRoutes({ scorers, gate, assets, presetVersions }: ScorerRouteDeps): Endpoint[] {
  const described = (caller: Caller, scorer: Scorer) => describedScorer({ assets, scorers }, caller, scorer);

  /** A version of a scorer that a user defined, or of a built-in metric. */
  const versionOf = async (id: string, number: number | 'latest') => {
    const scorer = await getScorer(scorers, id);
    return scorer.scorerType === 'preset'
      ? presetToVersion(await getPresetVersion(presetVersions, scorer, number))
      : toVersion(await getVersion(scorers, id, number), scorer);
  };
  const versionsOf = async (id: string, { starting_token: offset, limit }: PageRequest) => {
    const scorer = await getScorer(scorers, id);
    if (scorer.scorerType === 'preset') {
      const { items, hasMore } = await presetVersions.list(id, offset, limit);
      return { hasMore, versions: items.map(presetToVersion) };
    }
    const { items, hasMore } = await scorers.versions(id, offset, limit);
    return { hasMore, versions: items.map((version) => toVersion(version, scorer)) };
  };

  return [
    endpoint({
      method: 'post',
      path: '/scorers',
      errors: ['NotFound', 'Conflict'],
      summary: 'Create a scorer',
      description: 'A scorer of type llm computes once it has a version (POST /scorers/{scorer_id}/version/llm).',
      tag,
      access: write,
      body: CreateScorerRequest,
      response: ScorerResponse,
      handle: async ({ body, caller }) => {
        const home = homeProject(caller, undefined);
        const projectIds = body.project_ids.length > 0 || home === undefined ? body.project_ids : [home];
        for (const id of projectIds) await gate.authorize(caller, { project: 'update' }, id);
        // With a key limited to a project nothing is made for the organization.
        const input = { ...body, project_ids: projectIds, is_global: home === undefined ? body.is_global : false };
        return described(caller, await createScorer(scorers, scorersSeenBy(scorers, assets, caller), input, caller.userId));
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/list',
      errors: ['Conflict'],
      summary: 'List scorers, built-in metrics included',
      tag,
      access: read,
      query: PageQuery.extend({ actions }),
      body: ListScorersRequest,
      response: ListScorersResponse,
      handle: async ({ query, body, caller }) => {
        const all = [...(await scorers.list()), ...presets];
        const roles = await assets.roles(
          caller,
          'scorer',
          all.map(({ id }) => id),
        );
        const allowed = ({ id }: Scorer) => query.actions.every((action) => mayWith(roles.get(id), action));
        const seen = all.filter((scorer) => roles.has(scorer.id) && allowed(scorer));
        const found = await listScorers(scorers, seen, body);
        await mustNameOne('scorer', body.filters, { starting_token: 0, items: found, hasMore: false }, async () => found);
        const page = found.slice(query.starting_token, query.starting_token + query.limit);
        const withRequired = await withRequiredScorers(scorers, page);
        return {
          ...pageFields(query, page.length, query.starting_token + page.length < found.length),
          scorers: page.map((scorer) => toScorer(scorer, roles.get(scorer.id), withRequired)),
        };
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/tags',
      summary: 'Every tag of the scorers that you see, built-in metrics included',
      tag,
      access: read,
      response: z.array(z.string()),
      handle: async ({ caller }) => {
        const seen = await scorersSeenBy(scorers, assets, caller).list();
        return [...new Set([...seen, ...presets].flatMap(({ definition }) => definition.tags ?? []))].sort();
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/{scorer_id}',
      summary: 'Read a scorer',
      tag,
      access: needs('read'),
      params: ScorerPath,
      response: ScorerResponse,
      handle: async ({ params, caller }) => described(caller, await getScorer(scorers, params.scorer_id)),
    }),
    endpoint({
      method: 'patch',
      path: '/scorers/{scorer_id}',
      errors: ['Conflict'],
      summary: 'Change a scorer',
      tag,
      access: needs('update'),
      params: ScorerPath,
      body: UpdateScorerRequest,
      response: ScorerResponse,
      handle: async ({ params, body, caller }) => {
        const seen = scorersSeenBy(scorers, assets, caller);
        return described(caller, await updateScorer(scorers, seen, params.scorer_id, body));
      },
    }),
    endpoint({
      method: 'delete',
      path: '/scorers/{scorer_id}',
      summary: 'Delete a scorer',
      description: 'Runs that used it keep their values.',
      tag,
      access: needs('delete'),
      params: ScorerPath,
      response: Message,
      handle: async ({ params }) => ({ message: `Scorer ${(await deleteScorer(scorers, params.scorer_id)).name} was deleted` }),
    }),
    endpoint({
      method: 'post',
      path: '/scorers/{scorer_id}/version/llm',
      summary: 'Add a version of a judged scorer',
      description:
        'Settings that are left out come from the defaults of the scorer. The new version is the latest and the default.',
      tag,
      access: needs('update'),
      params: ScorerPath,
      body: CreateLlmScorerVersionRequest,
      response: ScorerVersionResponse,
      handle: async ({ params, body, caller }) => {
        const version = await addJudgeVersion(scorers, params.scorer_id, body, caller.userId);
        return toVersion(version, await getScorer(scorers, params.scorer_id));
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/{scorer_id}/version/luna',
      summary: 'Add a version of a scorer of a small tuned model',
      description:
        'No tuned model is run here: a judge is asked the prompt, on what `luna_input_type` says and with values as `luna_output_type` says. The version has a warning that says so.',
      tag,
      access: needs('update'),
      params: ScorerPath,
      body: CreateLunaScorerVersionRequest,
      response: ScorerVersionResponse,
      handle: async ({ params, body, caller }) => {
        const version = await addTunedVersion(scorers, params.scorer_id, body, caller.userId);
        return toVersion(version, await getScorer(scorers, params.scorer_id));
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/{scorer_id}/version/preset',
      errors: ['NotFound'],
      summary: 'Add a version of a built-in metric',
      description:
        'Settings under a number: the model of the judge, the number of judges, what is scored. It counts in the runs whose settings name it as `scorer_version`, and nowhere else.',
      tag,
      access: write,
      params: ScorerPath,
      body: CreateScorerVersionRequest,
      response: ScorerVersionResponse,
      handle: async ({ params, body, caller }) => {
        await assets.require(caller, 'scorer', params.scorer_id, 'read');
        const scorer = await getScorer(scorers, params.scorer_id);
        return presetToVersion(await addPresetVersion(presetVersions, scorer, body, caller.userId));
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/{scorer_id}/version',
      summary: 'Read a version of a scorer, the latest by default',
      tag,
      access: needs('read'),
      params: ScorerPath,
      query: z.object({ version: VersionNumber.optional() }),
      response: ScorerVersionResponse,
      handle: ({ params, query }) => versionOf(params.scorer_id, query.version ?? 'latest'),
    }),
    endpoint({
      method: 'get',
      path: '/scorers/{scorer_id}/versions',
      summary: 'List the versions of a scorer, newest first',
      tag,
      access: needs('read'),
      params: ScorerPath,
      query: PageQuery,
      response: ListScorerVersionsResponse,
      handle: async ({ params, query }) => {
        const { versions, hasMore } = await versionsOf(params.scorer_id, query);
        return { ...pageFields(query, versions.length, hasMore), versions };
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/{scorer_id}/versions/{version_number}/restore',
      summary: 'Make an earlier version the latest again',
      description: 'Adds a version with the content of the one named; it is the latest and the default.',
      tag,
      access: needs('update'),
      params: ScorerPath.extend({ version_number: VersionNumber }),
      response: ScorerVersionResponse,
      handle: async ({ params, caller }) => {
        const version = await restoreVersion(scorers, params.scorer_id, params.version_number, caller.userId);
        return toVersion(version, await getScorer(scorers, params.scorer_id));
      },
    }),
  ];
}
