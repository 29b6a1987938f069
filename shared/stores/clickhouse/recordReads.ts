import type { RecordKind } from '../../columns/columnDef.ts';
import { recordTableColumns } from '../../columns/recordTableColumns.ts';
import type { StoredRecord } from '../../records/record.ts';
import type {
  OrderedQuery,
  RecordKey,
  RecordPageQuery,
  RecordQuery,
  RecordRun,
  StoredMetric,
  StoredReads,
} from '../../records/searchRecords.ts';
import { Binder, timeParam } from './binder.ts';
import { columnSql, HAS_VALUE, metricValueColumn, type Scope, scopeOf } from './columnSql.ts';
import { compileFilter } from './compileFilter.ts';
import type { ClickHouse } from './connect.ts';
import { metricOfRow } from './metricRow.ts';
import { fromRow, type RecordRow } from './recordRow.ts';

/** Reads of one page that are named by id go in groups of this many, so that no statement grows without bound. */
const KEYS_PER_READ = 1000;
const TIME = "DateTime64(6, 'UTC')";
const allColumns = recordTableColumns.map(({ name }) => name);

/** The reads of a search over ClickHouse. Each names its run; rows of our own tables are mapped by hand, as a page has many. */
export function clickHouseRecordReads(clickhouse: ClickHouse): StoredReads {
  return {
    async page(query) {
      const start = await startAfter(clickhouse, query);
      const binder = new Binder();
      const scope = scopeOf(binder.bind, query.run);
      const { from, orderBy } = pageSource(query, scope);
      const matching = matchingSql(query, scope);
      const found = clickhouse.page({
        name: 'record page',
        sql: `SELECT records.id AS id, records.created_at AS created_at, records.type AS type, records.trace_id AS trace_id FROM ${from} WHERE ${matching}${
          start ? ` AND ${behind(query, scope, start)}` : ''
        } ORDER BY ${orderBy} LIMIT ${query.limit}${start ? '' : ` OFFSET ${query.offset}`}`,
        params: binder.params,
        row: keyOfRow,
      });
      if (!start) {
        const { rows, total } = await found;
        return { keys: rows, total };
      }
      const [{ rows }, total] = await Promise.all([found, countMatching(clickhouse, query)]);
      return { keys: rows, total };
    },

    count: (query) => countMatching(clickhouse, query),

    records: async (run, keys, columns) => {
      const names = columns === undefined ? allColumns : allColumns.filter((name) => columns.includes(name));
      const read = (group: readonly RecordKey[]): Promise<StoredRecord[]> => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        return clickhouse.query({
          name: 'records of a page',
          sql: `SELECT ${names.join(', ')} FROM records WHERE ${inRun} AND created_at IN ${bind(times(group), `Array(${TIME})`)} AND id IN ${bind(ids(group), 'Array(UUID)')} ORDER BY version DESC LIMIT 1 BY id`,
          params: binder.params,
          row: (row) => fromRow(row as RecordRow),
        });
      };
      return (await inGroups(keys, read)).flat();
    },

    async completeTraces(run, traceIds) {
      const rows = await inGroups(traceIds, (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        const wanted = bind(group, 'Array(UUID)');
        return clickhouse.query({
          name: 'complete traces',
          sql: `SELECT id FROM records WHERE ${inRun} AND created_at IN (SELECT created_at FROM record_keys WHERE ${inRun} AND id IN ${wanted}) AND id IN ${wanted} AND type = 'trace' GROUP BY id HAVING argMax(trace_is_complete, version)`,
          params: binder.params,
          row: (row) => (row as { id: string }).id,
        });
      });
      return new Set(rows.flat());
    },

    async parents(run, keys) {
      const rows = await inGroups(keys, (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        return clickhouse.query({
          name: 'parents of a page',
          sql: `SELECT DISTINCT holder AS parent_id FROM (${heldSql(inRun, 'parent_id', bind(ids(group), 'Array(UUID)'))})`,
          params: binder.params,
          row: (row) => (row as { parent_id: string }).parent_id,
        });
      });
      return new Set(rows.flat());
    },

    async metricResults(run, keys, metrics) {
      const rows = await inGroups(keys, (group) => {
        const binder = new Binder();
        const { bind, scoresInRun } = scopeOf(binder.bind, run);
        const named = metrics === undefined ? '' : ` AND metric IN ${bind(metrics, 'Array(String)')}`;
        return clickhouse.query({
          name: 'metrics of a page',
          sql: `SELECT record_id, metric, status, number, text, texts, value, explanation, metadata, details FROM metric_values WHERE ${scoresInRun}${named} AND record_created_at IN ${bind(times(group), `Array(${TIME})`)} AND record_id IN ${bind(ids(group), 'Array(UUID)')} ORDER BY version DESC LIMIT 1 BY record_id, metric`,
          params: binder.params,
          row: metricOfRow,
        });
      });
      const byRecord = new Map<string, StoredMetric[]>();
      for (const { recordId, ...metric } of rows.flat()) byRecord.set(recordId, [...(byRecord.get(recordId) ?? []), metric]);
      return byRecord;
    },

    async metricsWithValues(run, { from, to }) {
      const binder = new Binder();
      const { bind, scoresInRun } = scopeOf(binder.bind, run);
      const since = from === undefined ? '' : ` AND record_created_at >= ${bind(timeParam(from), TIME)}`;
      const until = to === undefined ? '' : ` AND record_created_at <= ${bind(timeParam(to), TIME)}`;
      return clickhouse.query({
        name: 'metrics with values',
        sql: `SELECT metric, multiIf(countIf(isNotNull(number)) > 0, 'floating_point', countIf(notEmpty(texts)) > 0, 'string_list', 'text') AS dataType FROM metric_values WHERE ${scoresInRun}${since}${until} AND ${HAS_VALUE} GROUP BY metric ORDER BY metric`,
        params: binder.params,
        row: (row) => row as { metric: string; dataType: 'floating_point' | 'text' | 'string_list' },
      });
    },

    spanCounts: (run, traceIds) => countBy(clickhouse, run, 'trace_id', "type NOT IN ('trace', 'session')", traceIds),
    traceCounts: (run, sessionIds) => countBy(clickhouse, run, 'session_id', "type = 'trace'", sessionIds),
  };
}

/** The condition that a query's records meet. */
export function matchingSql({ kinds, filter, findColumn }: RecordQuery, scope: Scope): string {
  return `${scope.inRun} AND type IN ${scope.bind(kinds, 'Array(String)')} AND ${compileFilter(filter, scope, findColumn)}`;
}

async function countMatching(clickhouse: ClickHouse, query: RecordQuery): Promise<number> {
  const binder = new Binder();
  const [row] = await clickhouse.query({
    name: 'record count',
    sql: `SELECT count() AS total FROM records FINAL WHERE ${matchingSql(query, scopeOf(binder.bind, query.run))}`,
    params: binder.params,
    row: (value) => Number((value as { total: string }).total),
  });
  return row ?? 0;
}

/** The rows a page is taken from, with the value of a metric beside them when it is sorted by one. */
export function pageSource(query: OrderedQuery, scope: Scope): { from: string; orderBy: string } {
  const tail = 'records.created_at DESC, records.id DESC';
  if (!query.sort) return { from: 'records FINAL', orderBy: tail };
  const direction = query.sort.ascending ? 'ASC' : 'DESC';
  return { from: sourceOf(query, scope), orderBy: `${sortValue(query, scope)} ${direction} NULLS LAST, ${tail}` };
}

function sourceOf({ sort }: OrderedQuery, { bind, scoresInRun }: Scope): string {
  if (sort?.column.source.at !== 'metric') return 'records FINAL';
  const value = metricValueColumn(sort.column);
  return `records FINAL LEFT ANY JOIN (SELECT record_id, ${value} AS sort_value FROM metric_values FINAL WHERE ${scoresInRun} AND metric = ${bind(
    sort.column.source.metric,
    'String',
  )} AND ${HAS_VALUE}) AS scores ON scores.record_id = records.id`;
}

export function sortValue({ sort }: OrderedQuery, scope: Scope): string {
  if (!sort) return 'records.created_at';
  if (sort.column.source.at === 'metric') return 'scores.sort_value';
  const { value } = columnSql(sort.column, scope);
  return sort.column.dataType === 'uuid' ? `toString(${value})` : value; // the engine orders uuids by their second half
}

interface Start {
  created_at: string;
  id: string;
  /** Printed form of the sort value; null when the record has none. */
  value: string | null;
}

/** Where the page before ended; undefined without a cursor and for a cursor that is not stored. */
async function startAfter(clickhouse: ClickHouse, query: RecordPageQuery): Promise<Start | undefined> {
  if (query.after === undefined) return undefined;
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run);
  const id = binder.bind(query.after, 'UUID');
  const [start] = await clickhouse.query({
    name: 'end of the page before',
    sql: `SELECT records.id AS id, toString(records.created_at) AS created_at, toString(${sortValue(query, scope)}) AS value FROM ${sourceOf(query, scope)} WHERE ${scope.inRun} AND records.id = ${id} AND records.created_at IN (SELECT created_at FROM record_keys WHERE ${scope.inRun} AND id = ${id})`,
    params: binder.params,
    row: (row) => row as Start,
  });
  return start;
}

/** The records that the order of the page puts behind `start`. */
function behind(query: RecordPageQuery, scope: Scope, start: Start): string {
  const { bind } = scope;
  const tail = `(records.created_at, records.id) < (${bind(start.created_at, TIME)}, ${bind(start.id, 'UUID')})`;
  if (!query.sort) return tail;
  const value = sortValue(query, scope);
  if (start.value === null) return `(isNull(${value}) AND ${tail})`;
  const bound = bind(start.value, sortType[query.sort.column.dataType] ?? 'String');
  return `(${value} ${query.sort.ascending ? '>' : '<'} ${bound} OR isNull(${value}) OR (${value} = ${bound} AND ${tail}))`;
}

const sortType: Readonly<Record<string, string>> = {
  timestamp: TIME,
  integer: 'Int64',
  floating_point: 'Float64',
  boolean: 'UInt8',
};

/**
 * The records that these hold now, one row each. A record that was moved has older versions that name where it was, so whatever matches in any
 * version is looked up in its newest.
 */
function heldSql(inRun: string, column: 'parent_id' | 'trace_id' | 'session_id', wanted: string, condition = 'true'): string {
  const candidates = `SELECT created_at, id FROM records WHERE ${inRun} AND ${column} IN ${wanted} AND ${condition}`;
  const newest = `SELECT ${column} AS holder FROM records WHERE ${inRun} AND (created_at, id) IN (${candidates}) ORDER BY version DESC LIMIT 1 BY id`;
  return `SELECT holder FROM (${newest}) WHERE holder IN ${wanted}`;
}

async function countBy(
  clickhouse: ClickHouse,
  run: RecordRun,
  column: 'trace_id' | 'session_id',
  condition: string,
  wanted: readonly string[],
): Promise<Map<string, number>> {
  const rows = await inGroups(wanted, (group) => {
    const binder = new Binder();
    const { bind, inRun } = scopeOf(binder.bind, run);
    return clickhouse.query({
      name: `records by ${column}`,
      sql: `SELECT holder, count() AS held FROM (${heldSql(inRun, column, bind(group, 'Array(UUID)'), condition)}) GROUP BY holder`,
      params: binder.params,
      row: (row) => row as { holder: string; held: string },
    });
  });
  return new Map(rows.flat().map(({ holder, held }) => [holder, Number(held)]));
}

async function inGroups<K, R>(keys: readonly K[], read: (group: readonly K[]) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_READ) results.push(await read(keys.slice(from, from + KEYS_PER_READ)));
  return results;
}

const ids = (keys: readonly RecordKey[]): string[] => keys.map(({ id }) => id);
const times = (keys: readonly RecordKey[]): string[] => [...new Set(keys.map(({ createdAt }) => timeParam(createdAt)))];

export function keyOfRow(row: unknown): RecordKey {
  const { id, type, created_at, trace_id } = row as Record<string, string>;
  return {
    id: id as string,
    type: type as RecordKind,
    createdAt: `${created_at?.replace(' ', 'T')}Z`,
    traceId: trace_id ?? null,
  };
}
