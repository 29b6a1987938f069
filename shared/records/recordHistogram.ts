import { RequestInvalid } from '../errors/errors.ts';
import type { RecordHistogram } from '../wire/recordHistogram.ts';
import { microsOfTime, timeOfMicros } from '../wire/time.ts';
import type { RecordQuery } from './searchRecords.ts';

/** Microseconds since 1970: from the first one on, and before the second. */
export interface Range {
  from: bigint;
  to: bigint;
}

/** Records of one bucket, the first being 0. */
export interface BucketCount {
  bucket: number;
  count: number;
  errors: number;
}

/** Records by time, and the range that they are counted over. */
export interface CountedRange {
  range: Range;
  /** Buckets without any record may be left out. */
  counts: BucketCount[];
}

export interface HistogramReads {
  /** Records in each bucket of so many microseconds; buckets without any may be left out. */
  counts(query: RecordQuery, range: Range, bucketMicros: bigint): Promise<BucketCount[]>;
  /**
   * The same where an end of the range is not given: it is that of the records that match within the other. Undefined where none does.
   * @param buckets as many as {@link bucketMicrosOf} takes
   */
  countsWithin(query: RecordQuery, bounds: Partial<Range>, buckets: number): Promise<CountedRange | undefined>;
}

/** How wide the buckets of a range are, the last of which may be narrower. */
export const bucketMicrosOf = ({ from, to }: Range, buckets: number): bigint => ceilDiv(to - from, BigInt(buckets));

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
  const found = await countedRange(reads, query, asked);
  if (!found) return { start_time: asked.from ?? null, end_time: asked.to ?? null, count: 0, errors: 0, buckets: [] };
  const { range, counts } = found;
  const width = bucketMicrosOf(range, asked.buckets);
  const counted = new Map(counts.map((one) => [one.bucket, one]));
  const length = Number(ceilDiv(range.to - range.from, width));
  const start = (bucket: number) => timeOfMicros(bucket < length ? range.from + BigInt(bucket) * width : range.to);
  const buckets = Array.from({ length }, (_, bucket) => {
    const { count = 0, errors = 0 } = counted.get(bucket) ?? {};
    return { start_time: start(bucket), end_time: start(bucket + 1), count, errors };
  });
  const sum = (of: 'count' | 'errors') => buckets.reduce((all, bucket) => all + bucket[of], 0);
  return { start_time: start(0), end_time: start(length), count: sum('count'), errors: sum('errors'), buckets };
}

async function countedRange(
  reads: HistogramReads,
  query: RecordQuery,
  asked: { from?: string | undefined; to?: string | undefined; buckets: number },
): Promise<CountedRange | undefined> {
  const from = asked.from === undefined ? undefined : microsOfTime(asked.from);
  const to = asked.to === undefined ? undefined : microsOfTime(asked.to);
  if (from === undefined || to === undefined)
    return reads.countsWithin(
      query,
      { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
      asked.buckets,
    );
  const range = { from, to };
  return { range, counts: await reads.counts(query, range, bucketMicrosOf(range, asked.buckets)) };
}

const ceilDiv = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

const endsTooEarly = (): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'end_time'], msg: 'end_time must come after start_time', type: 'range_invalid' }]);
