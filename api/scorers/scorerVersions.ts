import { z } from 'zod';
import { dataTypeOf } from '../../shared/scorers/codeMetric.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import type { PresetVersion } from '../../shared/scorers/presetVersions.ts';
import type { CodeDefinition, JudgeDefinition, Scorer, ScorerVersion, TunedModel } from '../../shared/scorers/scorer.ts';
import { scaleWarnings } from '../../shared/scorers/scorerScale.ts';
import { generatedScorerId } from '../../shared/scorers/scorerVersions.ts';
import { NodeType } from '../../shared/wire/scorers.ts';
import type { ScorerVersionResponse } from '../../shared/wire/scorerVersions.ts';

export const VersionNumber = z.coerce.number().int().min(0).max(2_147_483_647);

const NO_TUNED_MODEL = 'no tuned model is run: a judge is asked its prompt';

const judgeSettings = (definition: JudgeDefinition) => ({
  model_name: definition.modelName,
  ...(definition.modelNames ? { model_names: definition.modelNames } : {}),
  num_judges: definition.numJudges,
  scoreable_node_types: definition.nodeTypes,
  cot_enabled: definition.explain,
  output_type: definition.outputType,
  input_type: definition.inputType ?? null,
});

const numbered = ({ id, version, scorerId }: ScorerVersion) => ({ id, version, scorer_id: scorerId, finetuned_scorer: null });

const judgeOf = (version: ScorerVersion, { template, userPrompt, instructions }: JudgeDefinition, name: string) => ({
  id: generatedScorerId(version),
  name,
  instructions,
  chain_poll_template: template,
  user_prompt: userPrompt,
});

const codeOf = (version: ScorerVersion, { scoreType }: CodeDefinition, name: string) => ({
  id: generatedScorerId(version),
  name,
  score_type: scoreType,
});

const codeSettings = ({ nodeTypes, outputType }: CodeDefinition) => ({
  ...{ model_name: null, num_judges: null, cot_enabled: null, input_type: null },
  scoreable_node_types: nodeTypes,
  output_type: outputType,
});

const tunedFields = (tuned: TunedModel) => ({
  lora_task_id: tuned.loraTaskId,
  lora_weights_path: tuned.loraWeightsPath,
  luna_input_type: tuned.inputType,
  luna_output_type: tuned.outputType,
  class_name_to_vocab_ix: null,
  executor: tuned.executor,
});

/** A version of a built-in metric. */
export function presetToVersion({
  settings,
  createdBy,
  createdAt,
  ...version
}: PresetVersion): z.input<typeof ScorerVersionResponse> {
  return {
    ...{ id: version.id, version: version.version, scorer_id: version.scorerId, warnings: [], allowed_model: null },
    ...{ generated_scorer: null, registered_scorer: null, finetuned_scorer: null, chain_poll_template: null },
    model_name: settings.modelName,
    ...(settings.modelNames ? { model_names: settings.modelNames } : {}),
    num_judges: settings.numJudges,
    scoreable_node_types: settings.nodeTypes,
    cot_enabled: settings.explain,
    ...{ output_type: presetById(version.scorerId)?.definition.output_type ?? null, input_type: null },
    created_by: createdBy,
    created_at: createdAt.toISOString(),
    updated_at: createdAt.toISOString(),
  };
}

export const toBaseVersion = (version: ScorerVersion, { name }: Scorer) => {
  const { definition } = version;
  return 'code' in definition
    ? {
        ...numbered(version),
        generated_scorer: null,
        registered_scorer: codeOf(version, definition, name),
        ...codeSettings(definition),
      }
    : {
        ...numbered(version),
        generated_scorer: definition.tuned ? null : judgeOf(version, definition, name),
        registered_scorer: null,
        ...(definition.tuned
          ? { finetuned_scorer: { id: generatedScorerId(version), name, ...tunedFields(definition.tuned) } }
          : {}),
        ...judgeSettings(definition),
      };
};

export function toVersion(version: ScorerVersion, scorer: Scorer): z.input<typeof ScorerVersionResponse> {
  const { definition } = version;
  const made = {
    created_by: version.createdBy,
    created_at: version.createdAt.toISOString(),
    updated_at: version.createdAt.toISOString(),
  };
  const common = { ...numbered(version), warnings: scaleWarnings(scorer), allowed_model: null, ...made };
  if ('code' in definition)
    return {
      ...common,
      ...codeSettings(definition),
      generated_scorer: null,
      registered_scorer: {
        ...codeOf(version, definition, scorer.name),
        data_type: dataTypeOf(definition.scoreType),
        ...{ scoreable_node_types: definition.nodeTypes, chain_aggregation: definition.chainAggregation, ...made },
      },
      chain_poll_template: null,
    };
  if (definition.tuned)
    return {
      ...common,
      ...judgeSettings(definition),
      ...{ generated_scorer: null, registered_scorer: null, chain_poll_template: definition.template },
      warnings: [...common.warnings, NO_TUNED_MODEL],
      finetuned_scorer: {
        ...{ id: generatedScorerId(version), name: scorer.name, prompt: definition.template.template },
        ...tunedFields(definition.tuned),
        ...made,
      },
    };
  return {
    ...common,
    ...judgeSettings(definition),
    registered_scorer: null,
    generated_scorer: {
      ...judgeOf(version, definition, scorer.name),
      ...made,
      scoreable_node_types: definition.nodeTypes.filter((type) => NodeType.safeParse(type).success) as NodeType[],
      scorer_configuration: {
        // The interface wants a text here; empty where the model is chosen when the run starts.
        model_alias: definition.modelName ?? '',
        num_judges: definition.numJudges,
        output_type: definition.outputType,
        scoreable_node_types: definition.nodeTypes,
        cot_enabled: definition.explain,
        ground_truth: scorer.definition.ground_truth ?? false,
        multimodal_capabilities: scorer.definition.multimodal_capabilities ?? null,
      },
    },
    chain_poll_template: definition.template,
  };
}
