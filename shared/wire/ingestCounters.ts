import { z } from 'zod';

const tally = z.number().int();
export const IngestCountersResponse = z
  .object({
    project_id: z.string(),
    /** Records of requests that could be read: the sum of the next four. */
    accepted_records: tally,
    stored_records: tally,
    /** Updates of records that had not come. */
    held_records: tally,
    rejected_records: tally,
    records_under_way: tally,
    /** Updates of the project that wait for their records at this moment, and the most that may; and how many were dropped. */
    held_updates: z.object({ updates: tally, updates_limit: tally, bytes: tally, bytes_limit: tally, dropped: tally }),
    process: z.object({
      /** Requests refused with 429 or 503 before their records were known. */
      refused_requests: tally,
      /** Held by requests that are not answered yet, and the most that may be. */
      bytes_under_way: tally,
      bytes_limit: tally,
      /** Bytes among those that wait to be written or are being written. */
      bytes_waiting: tally,
    }),
  })
  .meta({ id: 'IngestCountersResponse' });
