import { RequestInvalid } from '../errors/errors.ts';
import type { RecordHistogram } from '../wire/recordHistogram.ts';
import { microsOfTime, timeOfMicros } from '../wire/time.ts';
import type { RecordQuery } from './searchRecords.ts';

/** Microseconds since 1970: from the first one on, and before the second. */
interface Range {
  from: bigint;
  to: bigint;
}

/** Records of one bucket, the first being 0. */
export interface BucketCount {
  bucket: number;
  count: number;
  errors: number;
}

export interface HistogramReads {
  /** When the first and the last record were made of those that match within the bounds; undefined where none does. */
  extent(query: RecordQuery, bounds: Partial<Range>): Promise<{ first: bigint; last: bigint } | undefined>;
  /** Records in each bucket of so many microseconds; buckets without any may be left out. */
  counts(query: RecordQuery, range: Range, bucketMicros: bigint): Promise<BucketCount[]>;
}

/**
 * The records that match and how many of them failed, by time. An end of the range that is not given is that of the records.
 * @param asked canonical times
 * @throws RequestInvalid for a range that ends before it starts.
 */
export async function recordHistogram(
  reads: HistogramReads,
  query: RecordQuery,
  asked: { from?: string | undefined; to?: string | undefined; buckets: number },
): Promise<RecordHistogram> {
  if (asked.from !== undefined && asked.to !== undefined && asked.from >= asked.to) throw endsTooEarly();
  const from = asked.from === undefined ? undefined : microsOfTime(asked.from);
  const to = asked.to === undefined ? undefined : microsOfTime(asked.to);
  const range = from !== undefined && to !== undefined ? { from, to } : await rangeOfRecords(reads, query, from, to);
  if (!range) return { start_time: asked.from ?? null, end_time: asked.to ?? null, count: 0, errors: 0, buckets: [] };
  const width = ceilDiv(range.to - range.from, BigInt(asked.buckets));
  const counted = new Map((await reads.counts(query, range, width)).map((one) => [one.bucket, one]));
  const length = Number(ceilDiv(range.to - range.from, width));
  const start = (bucket: number) => timeOfMicros(bucket < length ? range.from + BigInt(bucket) * width : range.to);
  const buckets = Array.from({ length }, (_, bucket) => {
    const { count = 0, errors = 0 } = counted.get(bucket) ?? {};
    return { start_time: start(bucket), end_time: start(bucket + 1), count, errors };
  });
  const sum = (of: 'count' | 'errors') => buckets.reduce((all, bucket) => all + bucket[of], 0);
  return { start_time: start(0), end_time: start(length), count: sum('count'), errors: sum('errors'), buckets };
}

async function rangeOfRecords(
  reads: HistogramReads,
  query: RecordQuery,
  from: bigint | undefined,
  to: bigint | undefined,
): Promise<Range | undefined> {
  const found = await reads.extent(query, { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) });
  return found && { from: from ?? found.first, to: to ?? found.last + 1n };
}

const ceilDiv = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

const endsTooEarly = (): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'end_time'], msg: 'end_time must come after start_time', type: 'range_invalid' }]);
