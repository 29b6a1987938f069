import type { ExportQuery, ExportReads, SizedKey } from '../../../records/exportRecords.ts';
import { Binder } from '../binder.ts';
import { type ClickHouse, SUBQUERIES_WITH_ROWS } from '../clickHouse.ts';
import { idOrder, type Scope, scopeOf } from '../filters/columnSql.ts';
import type { CompiledFilter } from '../filters/compileFilter.ts';
import { keyOfRow } from '../tables/keyRow.ts';
import { newestVersions } from '../tables/newestVersions.ts';
import { TEXT_BYTES } from '../tables/shortColumnsCache.ts';
import { matching, pageSource, sortValue } from './recordPages.ts';

/** A caller may read as slowly as it likes; its hanging up ends the statement. */
const MAX_SECONDS = 24 * 3600;

/**
 * A sort that spills to disk holds a block of every piece that it merges: keys of 6 M records took 200 MB with blocks of this size, and 1 GB with the
 * engine's own of 65,409 rows.
 */
const SMALL_BLOCKS = { max_block_size: 8_192 };

const sizedKey = (row: unknown): SizedKey => ({ ...keyOfRow(row), bytes: Number((row as { bytes: string }).bytes) });

/** Keys of any number of records, in order, while the engine finds them: sorting spills to disk, so memory stays flat. */
export function clickhouseRecordStream(clickhouse: ClickHouse): ExportReads {
  const keysRead = ({ signal }: ExportQuery, { hasLargeSubqueries }: CompiledFilter) => ({
    maxSeconds: MAX_SECONDS,
    signal,
    settings: { ...SMALL_BLOCKS, ...(clickhouse.isEmbedded && hasLargeSubqueries && SUBQUERIES_WITH_ROWS) },
  });
  return {
    async *keys(query) {
      const binder = new Binder();
      const scope = scopeOf(binder.bind, query.run, await newestVersions(clickhouse, query.run));
      const { from, orderBy } = pageSource(query, scope);
      const roots = rootsOf(query, scope);
      const keys = clickhouse.stream({
        name: 'keys of an export',
        sql: `SELECT records.id AS id, records.created_at AS created_at, records.type AS type, records.trace_id AS trace_id, ${TEXT_BYTES} AS bytes FROM ${from} WHERE ${roots.sql} ORDER BY ${orderBy}`,
        params: binder.params,
        row: sizedKey,
        ...keysRead(query, roots),
      });
      // A version that is written while the stream begins stands beside the one it replaces, in the same place of the order.
      let last: string | undefined;
      for await (const key of keys) {
        if (key.id !== last) yield key;
        last = key.id;
      }
    },

    async *members(query, container) {
      const binder = new Binder();
      const scope = scopeOf(binder.bind, query.run, await newestVersions(clickhouse, query.run));
      const { from } = pageSource(query, scope);
      const roots = rootsOf(query, scope);
      const order = query.sort ? `root_value ${query.sort.ascending ? 'ASC' : 'DESC'} NULLS LAST, ` : '';
      // Traces of a session in the order of their start, each with all its records; the session itself, which is in no trace, before them.
      const traceStart = container === 'session_id' ? 'min(created_at) OVER (PARTITION BY root_id, trace_id)' : 'root_created_at';
      yield* clickhouse.stream({
        name: 'records of an export',
        sql: `SELECT root_id, id, created_at, type, trace_id, bytes, ${traceStart} AS trace_start
              FROM (SELECT id, created_at, type, trace_id, ${TEXT_BYTES} AS bytes, ${container} AS container FROM ${scope.from} WHERE ${scope.newest}) AS members
              INNER JOIN (SELECT records.id AS root_id, records.created_at AS root_created_at, ${sortValue(query, scope)} AS root_value FROM ${from} WHERE ${roots.sql}) AS roots
              ON members.container = roots.root_id
              ORDER BY ${order}root_created_at DESC, ${idOrder('root_id')} DESC, isNotNull(trace_id), trace_start, trace_id, created_at, id`,
        params: binder.params,
        row: (row) => ({ ...sizedKey(row), rootId: (row as { root_id: string }).root_id }),
        ...keysRead(query, roots),
      });
    },
  };
}

function rootsOf(query: ExportQuery, scope: Scope): CompiledFilter {
  const found = matching(query, scope);
  if (!query.finishedSessionsOnly) return found;
  const unfinished = `SELECT session_id FROM ${scope.from} WHERE ${scope.newest} AND type = 'trace' AND NOT trace_is_complete`;
  return { sql: `${found.sql} AND records.id NOT IN (${unfinished})`, hasLargeSubqueries: true };
}
