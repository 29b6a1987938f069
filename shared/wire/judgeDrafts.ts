import { z } from 'zod';
import { Uuid } from './common.ts';
import { MetricRange } from './metricScale.ts';
import { ChainPollTemplate, OutputType } from './scorers.ts';

export const CreateLLMScorerAutogenRequest = z
  .object({
    instructions: z.string().trim().min(1).max(10_000).describe('What the judge is to decide, in a sentence or more.'),
    model_name: z.string().trim().min(1).max(255).describe('The model that writes the prompt.'),
    output_type: OutputType,
    cot_enabled: z.boolean(),
    scoreable_node_types: z.array(z.string().max(64)).max(20),
  })
  .meta({ id: 'CreateLLMScorerAutogenRequest' });
export type CreateLLMScorerAutogenRequest = z.output<typeof CreateLLMScorerAutogenRequest>;

export const GenerationResponse = z.object({ task_result_id: Uuid }).meta({ id: 'GenerationResponse' });

/** A judge that a model wrote: with the keys of a try-out, of a scorer and of its version. */
export const DraftedJudge = z
  .object({
    name: z.string(),
    description: z.string(),
    user_prompt: z.string(),
    instructions: z.string().describe('What was asked for.'),
    categories: z.array(z.string()).nullable(),
    range: MetricRange.nullable(),
    chain_poll_template: ChainPollTemplate,
    scorer_configuration: z.object({
      output_type: OutputType,
      scoreable_node_types: z.array(z.string()),
      cot_enabled: z.boolean(),
      categories: z.array(z.string()).nullable(),
      range: MetricRange.nullable(),
    }),
  })
  .meta({ id: 'DraftedJudge' });
export type DraftedJudge = z.output<typeof DraftedJudge>;

export const JudgeDraftResponse = z
  .object({
    task_result_id: Uuid,
    status: z.enum(['generating', 'completed', 'failed']),
    result: DraftedJudge.nullable(),
    error_message: z.string().nullable(),
  })
  .meta({ id: 'JudgeDraftResponse' });
