import { z } from 'zod';
import { Uuid } from './common.ts';
import { PromptRunSettings } from './prompts.ts';

export const syntheticDataTypes = [
  'General Query',
  'Prompt Injection',
  'Off-Topic Query',
  'Toxic Content in Query',
  'Multiple Questions in Query',
  'Sexist Content in Query',
] as const;
export type SyntheticDataType = (typeof syntheticDataTypes)[number];

/** Rows that one request may ask for: at ten a call, a hundred calls. */
export const MAX_EXTENSION_ROWS = 1_000;
const MAX_TEXT = 20_000;
const Text = z.string().max(MAX_TEXT);

export const SyntheticDatasetExtensionRequest = z
  .object({
    prompt_settings: PromptRunSettings.nullish().describe('Only `model_alias` is used.'),
    prompt: Text.nullish().describe('The prompt of the application that the rows are for.'),
    instructions: Text.nullish(),
    examples: z.array(Text).max(50).nullish(),
    source_dataset: z
      .object({
        dataset_id: Uuid,
        dataset_version_index: z.int().nullish(),
        row_ids: z.array(Uuid).max(1_000).nullish(),
      })
      .nullish(),
    data_types: z.array(z.enum(syntheticDataTypes)).nullish(),
    count: z
      .int()
      .min(1)
      .max(MAX_EXTENSION_ROWS)
      .nullish()
      .transform((given) => given ?? 10),
    project_id: Uuid.nullish(),
  })
  .meta({
    id: 'SyntheticDatasetExtensionRequest',
    examples: [
      {
        prompt_settings: { model_alias: 'GPT-4o mini' },
        prompt: 'You answer questions about parcels.',
        examples: ['Where is my parcel?'],
        data_types: ['General Query', 'Prompt Injection'],
        count: 20,
      },
    ],
  });
export type SyntheticDatasetExtensionRequest = z.output<typeof SyntheticDatasetExtensionRequest>;

export const SyntheticDatasetExtensionResponse = z
  .object({ dataset_id: Uuid.describe('It will hold the rows.') })
  .meta({ id: 'SyntheticDatasetExtensionResponse' });

export const JobProgress = z
  .object({
    progress_message: z.string().nullable(),
    steps_completed: z.int().nullable(),
    steps_total: z.int().nullable(),
  })
  .meta({ id: 'JobProgress' });
