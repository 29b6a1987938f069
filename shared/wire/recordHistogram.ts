import { z } from 'zod';
import { FilterExpression, FilterList } from './filters.ts';
import { RunSelector } from './recordSearch.ts';
import { ComparedTime } from './time.ts';

/** More than a screen has columns for. */
const MAX_BUCKETS = 500;

export const RecordHistogramRequest = z
  .object({
    ...RunSelector,
    filters: FilterList.optional(),
    filter_tree: FilterExpression.nullish(),
    start_time: ComparedTime.nullish().describe('Where the first bucket starts; absent: at the first record that matches.'),
    end_time: ComparedTime.nullish().describe('Where the last bucket ends; absent: behind the last record that matches.'),
    buckets: z
      .int()
      .min(1)
      .max(MAX_BUCKETS)
      .nullish()
      .transform((given) => given ?? 60)
      .describe('Into how many buckets of equal width the range is cut, 60 when absent; fewer where it has fewer microseconds.'),
  })
  .meta({ id: 'RecordHistogramRequest' });

const counts = {
  /** Records that match. */
  count: z.int(),
  /** Those among them that failed: with an error message, or a status code from 400 on. */
  errors: z.int(),
};

const RecordHistogramBucket = z
  .object({ start_time: z.string(), end_time: z.string(), ...counts })
  .meta({ id: 'RecordHistogramBucket' });

export const RecordHistogramResponse = z
  .object({
    /** Null where no time is asked for and no record matches. */
    start_time: z.string().nullable(),
    end_time: z.string().nullable(),
    ...counts,
    /** In the order of time, empty ones included. */
    buckets: z.array(RecordHistogramBucket),
  })
  .meta({ id: 'RecordHistogramResponse' });
export type RecordHistogram = z.output<typeof RecordHistogramResponse>;
