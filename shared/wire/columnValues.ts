import { z } from 'zod';
import { FilterExpression, FilterList } from './filters.ts';
import { RunSelector } from './recordSearch.ts';

const MAX_VALUES = 1_000;
const fields = { ...RunSelector, filters: FilterList.optional(), filter_tree: FilterExpression.nullish() };
const limit = (usual: number) =>
  z
    .int()
    .min(1)
    .max(MAX_VALUES)
    .nullish()
    .transform((given) => given ?? usual);

export const ColumnValuesRequest = z
  .object({
    ...fields,
    column_id: z.string(),
    contains: z.string().max(1_000).nullish().describe('Only values with this text in them, whatever its case.'),
    limit: limit(20).describe('The most frequent values that are given, 20 when absent.'),
  })
  .meta({ id: 'ColumnValuesRequest' });

const looked = {
  /** Number of the newest matching records that were counted: all of them, but in a large run. */
  num_records_counted: z.int(),
  /** All records that match. */
  num_records: z.int(),
  /** True where there are more than these. */
  has_more: z.boolean(),
};

export const ColumnValuesResponse = z
  .object({
    column_id: z.string(),
    /** The most frequent first. */
    values: z.array(
      z.object({ value: z.union([z.string(), z.number(), z.boolean()]), count: z.int() }).meta({ id: 'ColumnValue' }),
    ),
    /** Records counted that have no value. */
    without_value: z.int(),
    ...looked,
  })
  .meta({ id: 'ColumnValuesResponse' });
export type ColumnValues = z.output<typeof ColumnValuesResponse>;

export const MetadataKeysRequest = z
  .object({ ...fields, limit: limit(200).describe('The most frequent keys that are given, 200 when absent.') })
  .meta({ id: 'MetadataKeysRequest' });

export const MetadataKeysResponse = z
  .object({
    /** The most frequent first; `column_id` is what filters and selections name it by. */
    keys: z.array(z.object({ column_id: z.string(), count: z.int() }).meta({ id: 'MetadataKey' })),
    ...looked,
  })
  .meta({ id: 'MetadataKeysResponse' });
export type MetadataKeys = z.output<typeof MetadataKeysResponse>;
