import { z } from 'zod';
import { type AssetAction, type Caller, mayOnAsset, type ProjectRole } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { mustNameOne } from '../../shared/assets/onlyOne.ts';
import { isGlobal, labelOf, listScorers, nodeTypesOf } from '../../shared/scorers/listScorers.ts';
import {
  addJudgeVersion,
  createScorer,
  deleteScorer,
  generatedScorerId,
  getScorer,
  getVersion,
  restoreVersion,
  updateScorer,
} from '../../shared/scorers/manageScorers.ts';
import { presets } from '../../shared/scorers/presets.ts';
import type { Scorer, ScorerStore, ScorerVersion } from '../../shared/scorers/scorer.ts';
import { outputTypeOf, scaleWarnings, scorerScale } from '../../shared/scorers/scorerScale.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { Message, PageQuery, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  CreateLlmScorerVersionRequest,
  CreateScorerRequest,
  ListScorersRequest,
  ListScorersResponse,
  ListScorerVersionsResponse,
  NodeType,
  ScorerAction,
  ScorerResponse,
  ScorerVersionResponse,
  UpdateScorerRequest,
} from '../../shared/wire/scorers.ts';
import { type Endpoint, endpoint, type Gate } from '../route.ts';

const tag = 'Scorers';
const ScorerPath = z.object({ scorer_id: Uuid });
const VersionNumber = z.coerce.number().int().min(0).max(2_147_483_647);
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
}

/** Metric definitions: users' own, and the built-in ones among them. */
export function scorerRoutes({ scorers, gate, assets }: ScorerRouteDeps): Endpoint[] {
  const described = async (caller: Caller, scorer: Scorer) =>
    toScorer(scorer, (await assets.roles(caller, 'scorer', [scorer.id])).get(scorer.id));

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
        return {
          ...pageFields(query, page.length, query.starting_token + page.length < found.length),
          scorers: page.map((scorer) => toScorer(scorer, roles.get(scorer.id))),
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
      method: 'get',
      path: '/scorers/{scorer_id}/version',
      summary: 'Read a version of a scorer, the latest by default',
      tag,
      access: needs('read'),
      params: ScorerPath,
      query: z.object({ version: VersionNumber.optional() }),
      response: ScorerVersionResponse,
      handle: async ({ params, query }) => {
        const version = await getVersion(scorers, params.scorer_id, query.version ?? 'latest');
        return toVersion(version, await getScorer(scorers, params.scorer_id));
      },
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
        const scorer = await getScorer(scorers, params.scorer_id);
        const { items: versions, hasMore } = await scorers.versions(scorer.id, query.starting_token, query.limit);
        return {
          ...pageFields(query, versions.length, hasMore),
          versions: versions.map((version) => toVersion(version, scorer)),
        };
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

const mayWith = (role: ProjectRole | undefined, action: z.output<typeof ScorerAction>): boolean =>
  role !== undefined && action !== 'autotune_apply' && mayOnAsset(role, action);

function toScorer(scorer: Scorer, role: ProjectRole | undefined): z.input<typeof ScorerResponse> {
  const { definition } = scorer;
  const colors = definition.metric_color_picker_config ?? null;
  return {
    id: scorer.id,
    permissions: ScorerAction.options.map((action) => ({ action, allowed: mayWith(role, action), message: null })),
    name: scorer.name,
    scorer_type: scorer.scorerType,
    label: labelOf(scorer),
    description: definition.description ?? '',
    tags: definition.tags ?? [],
    defaults: definition.defaults ?? null,
    latest_version: scorer.latestVersion && toBaseVersion(scorer.latestVersion, scorer),
    model_type: definition.model_type ?? null,
    ground_truth: definition.ground_truth ?? null,
    default_version_id: scorer.defaultVersion?.id ?? null,
    default_version: scorer.defaultVersion && toBaseVersion(scorer.defaultVersion, scorer),
    user_prompt: definition.user_prompt ?? null,
    scoreable_node_types: nodeTypesOf(scorer),
    output_type: definition.output_type ?? null,
    input_type: definition.input_type ?? null,
    multimodal_capabilities: definition.multimodal_capabilities ?? null,
    required_scorers: definition.required_scorers ?? null,
    required_metric_ids: definition.required_metric_ids ?? null,
    deprecated: definition.deprecated ?? null,
    roll_up_method: definition.roll_up_method ?? null,
    roll_up_config: null,
    included_fields: definition.model_type === 'llm' || scorer.scorerType === 'llm' ? ['model_name', 'num_judges'] : [],
    created_by: scorer.createdBy,
    created_at: scorer.createdAt?.toISOString() ?? null,
    updated_at: scorer.updatedAt?.toISOString() ?? null,
    metric_color_picker_config: colors,
    color_threshold_config: colors?.type === 'numeric' ? colors : null,
    ...scorerScale(definition, outputTypeOf(scorer)),
    warnings: scaleWarnings(scorer),
    metric_name: scorer.name,
    is_global: isGlobal(scorer),
    scope_projects: scorer.scopeProjects,
  };
}

const judgeSettings = ({ definition }: ScorerVersion) => ({
  model_name: definition.modelName,
  ...(definition.modelNames ? { model_names: definition.modelNames } : {}),
  num_judges: definition.numJudges,
  scoreable_node_types: definition.nodeTypes,
  cot_enabled: definition.explain,
  output_type: definition.outputType,
  input_type: definition.inputType ?? null,
});

const toBaseVersion = (version: ScorerVersion, { name }: Scorer) => ({
  id: version.id,
  version: version.version,
  scorer_id: version.scorerId,
  generated_scorer: {
    id: generatedScorerId(version),
    name,
    instructions: version.definition.instructions,
    chain_poll_template: version.definition.template,
    user_prompt: version.definition.userPrompt,
  },
  registered_scorer: null,
  finetuned_scorer: null,
  ...judgeSettings(version),
});

function toVersion(version: ScorerVersion, scorer: Scorer): z.input<typeof ScorerVersionResponse> {
  const base = toBaseVersion(version, scorer);
  const made = {
    created_by: version.createdBy,
    created_at: version.createdAt.toISOString(),
    updated_at: version.createdAt.toISOString(),
  };
  return {
    ...base,
    warnings: scaleWarnings(scorer),
    registered_scorer: null,
    finetuned_scorer: null,
    generated_scorer: {
      ...base.generated_scorer,
      ...made,
      scoreable_node_types: version.definition.nodeTypes.filter((type) => NodeType.safeParse(type).success) as NodeType[],
      scorer_configuration: {
        // The interface wants a text here; empty where the model is chosen when the run starts.
        model_alias: version.definition.modelName ?? '',
        num_judges: version.definition.numJudges,
        output_type: version.definition.outputType,
        scoreable_node_types: version.definition.nodeTypes,
        cot_enabled: version.definition.explain,
        ground_truth: scorer.definition.ground_truth ?? false,
        multimodal_capabilities: scorer.definition.multimodal_capabilities ?? null,
      },
    },
    chain_poll_template: version.definition.template,
    allowed_model: null,
    ...made,
  };
}
