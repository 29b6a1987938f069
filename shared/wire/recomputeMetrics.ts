import { z } from 'zod';
import { Uuid } from './common.ts';
import { LogRecordsQueryRequest } from './recordSearch.ts';

/** `limit` of a request that says nothing about it. */
export const DEFAULT_LIMIT = 100;

const offset = z.int().min(0).nullish();
// Not bounded: nothing of the records is sent.
const limit = z.int().min(0).nullish();

export const RecomputeLogRecordsMetricsRequest = LogRecordsQueryRequest.extend({
  starting_token: offset,
  limit,
  pagination: z.object({ starting_token: offset, limit }).nullish(),
  scorer_ids: z.array(Uuid).max(200),
}).meta({ id: 'RecomputeLogRecordsMetricsRequest' });

export const RecomputeMetricsResponse = z
  .object({
    message: z.string(),
    /** Records that match the filters, of the kinds that the metrics look at. */
    num_records: z.int(),
    /** One job for each metric. */
    job_ids: z.array(Uuid),
  })
  .meta({ id: 'RecomputeMetricsResponse' });
