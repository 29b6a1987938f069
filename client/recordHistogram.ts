import type { RecordHistogram } from '../shared/wire/recordHistogram.ts';
import { clientOf, resolveProject } from './callOptions.ts';
import { type RecordChoice, recordsOf } from './recordChoice.ts';

export interface RecordHistogramOptions extends RecordChoice {
  /** From this time on; absent: from the first record that matches. */
  startTime?: Date | string | undefined;
  /** Before this time; absent: through the last record that matches. */
  endTime?: Date | string | undefined;
  /** Number of buckets of equal width, 1 to 500; default 60. */
  buckets?: number | undefined;
}

export type { RecordHistogram };

/**
 * How many records match, and how many of them failed, by time.
 * @throws ValueError unless exactly one run is given; HttpStatusError 422 for an unknown column or filter.
 */
export async function recordHistogram(options: RecordHistogramOptions): Promise<RecordHistogram> {
  const { kind = 'traces', startTime, endTime, buckets } = options;
  const body = { ...recordsOf(options), start_time: startTime, end_time: endTime, buckets };
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/${kind}/histogram`, { body, repeatable: true });
}
