import { z } from 'zod';
import { Timestamp, Uuid } from './common.ts';
import {
  ChainAggregation,
  ChainPollTemplate,
  CodeScoreType,
  JudgeCount,
  judgeSettings,
  MultimodalCapability,
  NodeType,
  OutputType,
  scorerWarnings,
} from './scorers.ts';

export const CreateScorerVersionRequest = z.object(judgeSettings);
export type CreateScorerVersionRequest = z.output<typeof CreateScorerVersionRequest>;

export const TunedInputType = z.enum(['span', 'trace_object', 'trace_input_output_only']);
export type TunedInputType = z.output<typeof TunedInputType>;
export const TunedOutputType = z.enum(['float', 'string', 'string_list', 'bool_list']);
export type TunedOutputType = z.output<typeof TunedOutputType>;

export const CreateLunaScorerVersionRequest = z.object({
  lora_task_id: z.int(),
  prompt: z.string().min(1),
  lora_weights_path: z.string().nullish(),
  executor: z.string().nullish(),
  luna_input_type: TunedInputType.nullish(),
  luna_output_type: TunedOutputType.nullish(),
});
export type CreateLunaScorerVersionRequest = z.output<typeof CreateLunaScorerVersionRequest>;

const FinetunedScorer = z.object({
  id: Uuid,
  name: z.string(),
  lora_task_id: z.int(),
  lora_weights_path: z.string().nullable(),
  prompt: z.string(),
  luna_input_type: TunedInputType.nullable(),
  luna_output_type: TunedOutputType.nullable(),
  class_name_to_vocab_ix: z.null(),
  executor: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by: Uuid,
});

export const CreateLlmScorerVersionRequest = z.object({
  ...judgeSettings,
  instructions: z.string().nullish(),
  chain_poll_template: ChainPollTemplate.nullish(),
  user_prompt: z.string().nullish(),
});
export type CreateLlmScorerVersionRequest = z.output<typeof CreateLlmScorerVersionRequest>;

const GeneratedScorerConfiguration = z.object({
  model_alias: z.string(),
  num_judges: JudgeCount,
  output_type: OutputType,
  scoreable_node_types: z.array(z.string()),
  cot_enabled: z.boolean(),
  ground_truth: z.boolean(),
  multimodal_capabilities: z.array(MultimodalCapability).nullish(),
});

export const ScorerVersionResponse = z.object({
  warnings: scorerWarnings,
  id: Uuid,
  version: z.number().int(),
  scorer_id: Uuid,
  generated_scorer: z
    .object({
      id: Uuid,
      name: z.string(),
      instructions: z.string().nullable(),
      chain_poll_template: ChainPollTemplate,
      user_prompt: z.string().nullable(),
      created_by: Uuid,
      created_at: Timestamp,
      updated_at: Timestamp,
      scoreable_node_types: z.array(NodeType).nullable(),
      scorer_configuration: GeneratedScorerConfiguration,
    })
    .nullable(),
  registered_scorer: z
    .object({
      id: Uuid,
      name: z.string(),
      score_type: CodeScoreType,
      data_type: z.enum(['boolean', 'integer', 'floating_point', 'text']),
      scoreable_node_types: z.array(z.string()),
      chain_aggregation: ChainAggregation.nullable(),
      created_by: Uuid,
      created_at: Timestamp,
      updated_at: Timestamp,
    })
    .nullable(),
  finetuned_scorer: FinetunedScorer.nullable(),
  ...judgeSettings,
  created_at: Timestamp,
  updated_at: Timestamp,
  chain_poll_template: ChainPollTemplate.nullable(),
  allowed_model: z.boolean().nullable(),
  created_by: Uuid.nullable(),
});
