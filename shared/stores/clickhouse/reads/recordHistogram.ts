import { FAILED } from '../../../records/failed.ts';
import { type BucketCount, bucketMicrosOf, type HistogramReads } from '../../../records/recordHistogram.ts';
import type { RecordQuery } from '../../../records/searchRecords.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { type Scope, scopeOf } from '../filters/columnSql.ts';
import { isEmpty } from '../filters/compileFilter.ts';
import { matchingSql } from './recordPages.ts';
import { RunVersions } from './runVersions.ts';

/** Up to so many records their times are kept while the filter is read, 16 MB; beyond, the filter is read again when the first and last are known. */
const MOST_KEPT = 2_000_000;

/**
 * Records by time. A filter is read once: of a word in a million inputs that takes half the CPU of two statements (1.6 s instead of 3.3). Without a filter two
 * are cheaper (154 ms instead of 215), since the first and last time are read from one narrow column.
 */
export function clickhouseHistogram(clickhouse: ClickHouse, mostKept = MOST_KEPT): HistogramReads {
  const versions = new RunVersions(clickhouse);
  const begin = async ({ run }: RecordQuery) => {
    const { newest } = await versions.ofRecords(run);
    const { bind, params } = new Binder();
    return { scope: scopeOf(bind, run, newest), params };
  };

  const counts: HistogramReads['counts'] = async (query, range, bucketMicros) => {
    const { scope, params } = await begin(query);
    const { bind } = scope;
    const behind = `toUnixTimestamp64Micro(created_at) - ${bind(String(range.from), 'Int64')}`;
    return clickhouse.query({
      name: 'record histogram',
      sql: `SELECT intDiv(${behind}, ${bind(String(bucketMicros), 'Int64')}) AS bucket, count() AS count, countIf(${FAILED}) AS errors
            FROM ${scope.from} WHERE ${matchingSql(query, scope)}${within(scope, range)} GROUP BY bucket`,
      params,
      row: bucketOf,
    });
  };

  return {
    counts,
    async countsWithin(query, bounds, buckets) {
      const { scope, params } = await begin(query);
      const { bind } = scope;
      const end = (micros: bigint | undefined, ofRecords: string) =>
        micros === undefined ? ofRecords : bind(String(micros), 'Int64');
      const number = bind(String(buckets), 'Int64');
      const kept = isEmpty(query.filter) ? 0 : mostKept;
      const times = kept === 0 ? '[toInt64(0)]' : `if(isWhole, groupArray(${kept})(micros * 2 + failed), [toInt64(0)])`;
      // A time and whether it failed are one number, of which the last bit says the latter.
      const rows = await clickhouse.query({
        name: 'record histogram',
        sql: `SELECT start, end, isWhole, if(isWhole, intDiv(bitShiftRight(time, 1) - start, intDiv(end - start + ${number} - 1, ${number})), 0) AS bucket,
                count() AS count, countIf(bitTest(time, 0)) AS errors
              FROM (
                SELECT ${end(bounds.from, 'min(micros)')} AS start, ${end(bounds.to, 'max(micros) + 1')} AS end, count() <= ${kept} AS isWhole,
                  arrayJoin(${times}) AS time
                FROM (
                  SELECT toUnixTimestamp64Micro(created_at) AS micros, ${FAILED} AS failed
                  FROM ${scope.from} WHERE ${matchingSql(query, scope)}${within(scope, bounds)}
                )
                HAVING count() > 0
              ) GROUP BY start, end, isWhole, bucket`,
        params,
        row: (value) => {
          const { start, end: to, isWhole } = value as { start: string; end: string; isWhole: boolean | number };
          return { range: { from: BigInt(start), to: BigInt(to) }, isWhole: Boolean(isWhole), ...bucketOf(value) };
        },
      });
      const [first] = rows;
      if (!first) return undefined;
      const { range, isWhole } = first;
      return { range, counts: isWhole ? rows : await counts(query, range, bucketMicrosOf(range, buckets)) };
    },
  };
}

function bucketOf(value: unknown): BucketCount {
  const { bucket, count, errors } = value as Record<'bucket' | 'count' | 'errors', string>;
  return { bucket: Number(bucket), count: Number(count), errors: Number(errors) };
}

/** The last moment is the one before the end: behind the last time of the engine there is none. */
function within({ bind }: Scope, { from, to }: { from?: bigint; to?: bigint }): string {
  const time = (micros: bigint) => `fromUnixTimestamp64Micro(${bind(String(micros), 'Int64')}, 'UTC')`;
  return [
    ...(from === undefined ? [] : [` AND created_at >= ${time(from)}`]),
    ...(to === undefined ? [] : [` AND created_at <= ${time(to - 1n)}`]),
  ].join('');
}
