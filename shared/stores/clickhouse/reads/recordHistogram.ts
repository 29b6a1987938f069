import { FAILED } from '../../../records/failed.ts';
import type { HistogramReads } from '../../../records/recordHistogram.ts';
import type { RecordQuery } from '../../../records/searchRecords.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { type Scope, scopeOf } from '../filters/columnSql.ts';
import { matchingSql } from './recordPages.ts';
import { RunVersions } from './runVersions.ts';

/** Records by time, in one pass over the columns that the question names. */
export function clickhouseHistogram(clickhouse: ClickHouse): HistogramReads {
  const versions = new RunVersions(clickhouse);
  const begin = async ({ run }: RecordQuery) => {
    const { newest } = await versions.ofRecords(run);
    const { bind, params } = new Binder();
    return { scope: scopeOf(bind, run, newest), params };
  };
  return {
    async extent(query, bounds) {
      const { scope, params } = await begin(query);
      const [row] = await clickhouse.query({
        name: 'first and last record',
        sql: `SELECT count() AS total, toUnixTimestamp64Micro(min(created_at)) AS first, toUnixTimestamp64Micro(max(created_at)) AS last
              FROM ${scope.from} WHERE ${matchingSql(query, scope)}${within(scope, bounds)}`,
        params,
        row: (value) => value as { total: string; first: string; last: string },
      });
      return row && Number(row.total) > 0 ? { first: BigInt(row.first), last: BigInt(row.last) } : undefined;
    },

    async counts(query, range, bucketMicros) {
      const { scope, params } = await begin(query);
      const { bind } = scope;
      const behind = `toUnixTimestamp64Micro(created_at) - ${bind(String(range.from), 'Int64')}`;
      return clickhouse.query({
        name: 'record histogram',
        sql: `SELECT intDiv(${behind}, ${bind(String(bucketMicros), 'Int64')}) AS bucket, count() AS count, countIf(${FAILED}) AS errors
              FROM ${scope.from} WHERE ${matchingSql(query, scope)}${within(scope, range)} GROUP BY bucket`,
        params,
        row: (value) => {
          const { bucket, count, errors } = value as Record<'bucket' | 'count' | 'errors', string>;
          return { bucket: Number(bucket), count: Number(count), errors: Number(errors) };
        },
      });
    },
  };
}

/** The last moment is the one before the end: behind the last time of the engine there is none. */
function within({ bind }: Scope, { from, to }: { from?: bigint; to?: bigint }): string {
  const time = (micros: bigint) => `fromUnixTimestamp64Micro(${bind(String(micros), 'Int64')}, 'UTC')`;
  return [
    ...(from === undefined ? [] : [` AND created_at >= ${time(from)}`]),
    ...(to === undefined ? [] : [` AND created_at <= ${time(to - 1n)}`]),
  ].join('');
}
