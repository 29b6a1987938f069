import { z } from 'zod';
import { Uuid } from './common.ts';

const Count = z.number().int().min(1).max(1_000_000_000);
/** Ids or ordinals in one list. */
const MAX_LISTED = 10_000;

const Sample = z
  .strictObject({
    size: Count,
    seed: z.number().int().min(0).max(4_294_967_295).default(0),
  })
  .describe(
    'So many rows at random. The same seed draws the same rows, also from another version of the dataset as far as it has them.',
  );

const Filter = z
  .array(
    z.strictObject({
      column_name: z.string(),
      operator: z.enum(['eq', 'ne', 'contains']).default('contains'),
      value: z.string(),
    }),
  )
  .min(1)
  .max(100)
  .describe('Rows whose columns fit all of these, as in a query of a dataset’s content.');

const parts = {
  filter: Filter.nullish(),
  ids: z.array(Uuid).min(1).max(MAX_LISTED).nullish().describe('Rows with these ids.'),
  ordinals: z.array(z.number().int().min(0)).min(1).max(MAX_LISTED).nullish().describe('Rows at these positions, from 0.'),
  sample: Sample.nullish(),
  limit: Count.nullish().describe('At most so many of the first.'),
  same_as: Uuid.nullish().describe('The rows that this experiment has frozen. Goes alone.'),
};
type Part = keyof typeof parts;

/** The rows that a run is over. */
export const RowSelectionRequest = z
  .strictObject(parts)
  .superRefine((given, context) => {
    const named = (Object.keys(parts) as Part[]).filter((part) => given[part] != null);
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    if (named.length === 0) refuse(`name at least one of ${Object.keys(parts).join(', ')}`);
    if (named.includes('same_as') && named.length > 1) refuse('same_as goes alone: it gives all rows of the other experiment');
    if (named.includes('ids') && named.includes('ordinals')) refuse('give ids or ordinals, not both');
  })
  .meta({
    id: 'ExperimentRowSelection',
    examples: [
      { limit: 10 },
      { sample: { size: 200, seed: 7 } },
      { filter: [{ column_name: 'language', operator: 'eq', value: 'fr' }], limit: 50 },
      { ordinals: [0, 3, 12] },
      { same_as: '5f3c1f0e-6f0b-4d5e-9a39-0c3d2f1b7a10' },
    ],
  });
export type RowSelectionRequest = z.output<typeof RowSelectionRequest>;

/** The rows that a run has frozen. */
export const RowSelectionReply = z
  .object({
    selected: z.int().describe('Rows that are run.'),
    of: z.int().describe('Rows of the dataset version or list of records.'),
    filter: z.array(z.object({ column_name: z.string(), operator: z.string(), value: z.string() })).nullable(),
    listed: z.int().nullable().describe('Ids or ordinals that were named.'),
    sample: z.object({ size: z.int(), seed: z.int() }).nullable(),
    limit: z.int().nullable(),
    same_as: Uuid.nullable(),
  })
  .meta({ id: 'ExperimentSelectedRows' });
export type RowSelectionReply = z.output<typeof RowSelectionReply>;
