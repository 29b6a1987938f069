import { z } from 'zod';
import { documentedAs, Timestamp, Uuid } from '../wire/common.ts';
import { LoggedSpan } from './loggedRecords.ts';

export const RowResult = z.object({
  ordinal: z.int32().min(0),
  output: z.string().nullable(),
  error: z.string().nullish(),
  spans: z.array(LoggedSpan).nullish(),
  started_at: Timestamp,
  duration_ns: z.number().int().min(0),
  metrics: z.record(z.string(), z.unknown()).nullish(),
  tags: z.array(z.string()).nullish(),
});
/** A result must name its row. Any other fault costs that row at most; a result that names no row is left out. */
const AnyRowResult = z.looseObject({ ordinal: RowResult.shape.ordinal });
const AnyRowResults = z
  .array(z.unknown())
  .min(1)
  .max(1_000)
  .transform((results) => results.flatMap((result) => AnyRowResult.safeParse(result).data ?? []));
documentedAs.set(AnyRowResults, z.array(RowResult).min(1).max(1_000));

export const ResultsRequest = z.strictObject({ process: Uuid, results: AnyRowResults }).meta({ id: 'ExperimentRowResults' });
