import type { z } from 'zod';
import { type Caller, mayOnAsset, type ProjectRole } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { isGlobal, labelOf, nodeTypesOf } from '../../shared/scorers/listScorers.ts';
import type { Scorer, ScorerStore } from '../../shared/scorers/scorer.ts';
import { ownNeeds, scorerNeeds, withRequiredScorers } from '../../shared/scorers/scorerNeeds.ts';
import { outputTypeOf, scaleWarnings, scorerScale } from '../../shared/scorers/scorerScale.ts';
import { ScorerAction, type ScorerResponse } from '../../shared/wire/scorers.ts';
import { toBaseVersion } from './scorerVersions.ts';

/** True when a role on a scorer allows the action. */
export const mayWith = (role: ProjectRole | undefined, action: z.output<typeof ScorerAction>): boolean =>
  role !== undefined && action !== 'autotune_apply' && mayOnAsset(role, action);

/** One scorer as answers show it to this caller. */
export async function describedScorer(
  { assets, scorers }: { assets: Pick<AssetAccess, 'roles'>; scorers: Pick<ScorerStore, 'findEver'> },
  caller: Caller,
  scorer: Scorer,
): Promise<z.input<typeof ScorerResponse>> {
  const roles = await assets.roles(caller, 'scorer', [scorer.id]);
  return toScorer(scorer, roles.get(scorer.id), await withRequiredScorers(scorers, [scorer]));
}

/**
 * A scorer as answers show it to a caller with this role on it.
 * @param scorers those that it requires among them
 */
export function toScorer(
  scorer: Scorer,
  role: ProjectRole | undefined,
  scorers: ReadonlyMap<string, Scorer>,
): z.input<typeof ScorerResponse> {
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
    included_fields:
      definition.model_type === 'llm' || ownNeeds(scorer).includes('judge_model') ? ['model_name', 'num_judges'] : [],
    created_by: scorer.createdBy,
    created_at: scorer.createdAt?.toISOString() ?? null,
    updated_at: scorer.updatedAt?.toISOString() ?? null,
    metric_color_picker_config: colors,
    color_threshold_config: colors?.type === 'numeric' ? colors : null,
    ...scorerScale(definition, outputTypeOf(scorer)),
    categories: definition.categories ?? null,
    check: definition.check ?? null,
    warnings: scaleWarnings(scorer),
    metric_name: scorer.name,
    needs: scorerNeeds(scorer, scorers),
    is_global: isGlobal(scorer),
    scope_projects: scorer.scopeProjects,
  };
}
