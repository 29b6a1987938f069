import type { ColumnDef } from '../../../columns/columnDef.ts';
import type { UsageMetric } from '../../../columns/systemMetrics.ts';
import { begun } from '../../../concurrency/begun.ts';
import { ServiceError } from '../../../errors/errors.ts';
import type { StoredRecord } from '../../../records/record.ts';
import {
  keyOf,
  MAX_PAGE_BYTES,
  type OrderedQuery,
  type RecordKey,
  type RecordPage,
  type RecordPageQuery,
  type RecordQuery,
  type StoredReads,
} from '../../../records/searchRecords.ts';
import { type RecordKind, recordKinds } from '../../../wire/recordKinds.ts';
import { Binder, TIME } from '../binder.ts';
import { type ClickHouse, type ClickHouseRead, SHARED_CORES } from '../clickHouse.ts';
import {
  columnSql,
  containersOf,
  HAS_VALUE,
  IN_ORDER,
  idOrder,
  isStale,
  metricValueColumn,
  ofKindsSql,
  type Scope,
  scopeOf,
} from '../filters/columnSql.ts';
import { type CompiledFilter, compileFilter, isEmpty } from '../filters/compileFilter.ts';
import { keyOfRow } from '../tables/keyRow.ts';
import { byMerging, type Counts, type NewestVersions } from '../tables/newestVersions.ts';
import { type RowsOf, recordRows } from '../tables/recordRow.ts';
import { readsLongTexts } from '../tables/shortColumnsCache.ts';
import { ownUsage, usageSql } from '../tables/usageSql.ts';
import { metricPage } from './metricPage.ts';
import type { RecordVersions, RunVersions } from './runVersions.ts';

/** Longer pages with long texts are read by their keys, a group of them at a time. */
const MAX_READ_AT_ONCE = 1000;

/** Up to so many records the page and the total of a filter are one statement: beyond, finding all that match in order takes longer than two. */
const SMALL_RUN = 150_000;

type Columns = readonly string[] | 'all' | undefined;

/** A page, and whether it shows the newest version of each of its records: one that was changed meanwhile may be there twice, or move others. */
export type CheckedPage = RecordPage & { isCurrent: boolean };

/** Pages of a run's records, and their number. */
export function recordPages(
  clickhouse: ClickHouse,
  versions: RunVersions,
): Pick<StoredReads, 'readPage' | 'count' | 'countBefore'> {
  const totalIn = async (query: RecordQuery, { newest, counts }: RecordVersions): Promise<number> => {
    const known = isWhole(query) ? (counts ?? (await versions.count(query.run, newest))) : undefined;
    return known ? sizeOf(known, query.kinds) : countMatching(clickhouse, query, newest);
  };
  const count = async (query: RecordQuery): Promise<number> => totalIn(query, await versions.ofRecords(query.run));

  const pageOfRecords = async (query: RecordPageQuery, columns: Columns, known: RecordVersions): Promise<CheckedPage> => {
    const { run, offset, limit, after } = query;
    const isCounted = isCountedWithPage(query, known);
    const named = columns === 'all' ? undefined : columns;
    const isShort = limit <= MAX_READ_AT_ONCE || !readsLongTexts(named);
    const rowsOf = columns && isShort ? recordRows(run, named) : undefined;
    const reading = rowsAndKeys(clickhouse, query, known.newest, rowsOf, isCounted);
    const counting = isCounted ? undefined : begun(totalIn(query, known));
    const { total: counted, ...page } = await reading;
    const { length } = page.keys;
    // A version written since `known` stands beside the one it replaced: on the page, which then holds too few records, or among the rows before
    // its offset, of which nothing is seen on the page and which then move it by one.
    const isOnce = new Set(page.keys.map(({ id }) => id)).size === length;
    const isCurrent = isOnce && (offset === 0 || after !== undefined || (await versions.areCurrent(run, known)));
    // A full page that seems to be the last: what was logged between the count and the page may have pushed others behind it.
    const certain = async (total: number) => (length < limit || offset + length < total ? total : count(query));
    return { ...page, total: begun(counting ? counting.then(certain) : Promise.resolve(counted ?? count(query))), isCurrent };
  };

  return {
    async readPage(given, columns) {
      const query = withoutUsualSort(given);
      const { run } = query;
      const isWrittenOnce = (metric: string) => versions.areWrittenOnce(run, metric);
      const ofMetric = await metricPage(clickhouse, query, isWrittenOnce, count);
      const { isCurrent, ...page } = ofMetric ?? (await pageOfRecords(query, columns, await versions.ofRecords(run)));
      if (isCurrent) return page;
      // The engine merges the versions: right whatever is written meanwhile, and slower (0.5 s for a million records).
      const { isCurrent: _, ...merged } =
        (await metricPage(clickhouse, query, async () => false, count)) ??
        (await pageOfRecords(query, columns, { newest: byMerging }));
      return merged;
    },
    count,
    async countBefore(given) {
      const query = withoutUsualSort(given);
      const { newest } = await versions.ofRecords(query.run);
      const start = query.after === undefined ? undefined : await startAfter(clickhouse, query, query.after, newest);
      if (!start) return query.offset;
      const binder = new Binder();
      const scope = scopeOf(binder.bind, query.run, newest);
      const { from } = pageSource(query, scope);
      return countRows(
        clickhouse,
        `SELECT count() AS total FROM ${from} WHERE ${matchingSql(query, scope)} AND NOT ifNull(${behind(query, scope, start)}, false)`,
        binder,
      );
    },
  };
}

/** Newest first is the order without a sort: its pages are read in the order of the table, without a look at what they are sorted by. */
function withoutUsualSort({ sort, ...query }: RecordPageQuery): RecordPageQuery {
  const isUsual = sort?.column.id === 'created_at' && !sort.ascending;
  return sort && !isUsual ? { ...query, sort } : query;
}

/** True when the filter and the times keep every record of these kinds. */
const isWhole = ({ filter, run }: RecordQuery): boolean => isEmpty(filter) && run.expiry === undefined;

const sizeOf = (counts: Counts, kinds: readonly RecordKind[]): number =>
  kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0);

/** True when one statement finds the page and counts all matching records. */
const isCountedWithPage = (query: RecordPageQuery, { newest, counts }: RecordVersions): boolean =>
  counts !== undefined &&
  newest.from === 'records' &&
  sizeOf(counts, recordKinds) <= SMALL_RUN &&
  !isWhole(query) &&
  query.limit > 0 &&
  query.after === undefined &&
  !isSortedByOthers(query);

/** True when the values that sort the page are joined to its rows. */
const isSortedByOthers = ({ sort, kinds }: OrderedQuery): boolean =>
  sort !== undefined &&
  (sort.column.source.at === 'metric' || (sort.column.source.at === 'usage' && containersOf(kinds).length > 0));

/** @param rowsOf the records that are read with their keys where one statement can; undefined: the keys alone */
async function rowsAndKeys(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  newest: NewestVersions,
  rowsOf: RowsOf<StoredRecord> | undefined,
  isCounted: boolean,
): Promise<Omit<RecordPage, 'total'> & { total?: number | undefined }> {
  let areLarge = false;
  if (rowsOf && isReadAtOnce(query, newest)) {
    try {
      const { rows, total } = await rowsAmong(clickhouse, query, newest, rowsOf, isCounted, MAX_PAGE_BYTES);
      return { keys: rows.map(keyOf), records: rows, total };
    } catch (err) {
      if (!isOverSize(err)) throw err;
      areLarge = true;
    }
  }
  const { rows, total } = await rowsAmong(clickhouse, query, newest, keyRows, isCounted);
  return { keys: rows, total, areLarge };
}

/** A statement whose answer is too large, or took too much memory on the way to it. */
export const isOverSize = (err: unknown): boolean =>
  err instanceof ServiceError &&
  err.code === 'QueryTooExpensive' &&
  (err.context?.limit === 'result' || err.context?.limit === 'memory');

const keyRows: RowsOf<RecordKey> = { select: 'id, created_at, type, trace_id', row: keyOfRow };

/**
 * True when one statement finds the page and reads its rows: the engine sorts by the few columns that it needs and reads the others of the page's
 * rows alone. Where it merges versions or joins values it would read all columns of every row.
 */
const isReadAtOnce = (query: RecordPageQuery, { from }: NewestVersions): boolean =>
  from === 'records' && !isSortedByOthers(query);

/** Sorted columns are read in larger blocks: ordering a million records by name takes 79 ms of CPU, against 86 with the engine's own 1 MB. */
const LARGE_BLOCKS = { preferred_block_size_bytes: 4_194_304 };

/** @param isCounted with the number of all rows that match */
async function rowsAmong<T>(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  newest: NewestVersions,
  { select, row }: RowsOf<T>,
  isCounted: boolean,
  maxResultBytes?: number,
): Promise<{ rows: T[]; total?: number }> {
  const start = query.after === undefined ? undefined : await startAfter(clickhouse, query, query.after, newest);
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const { from, orderBy } = pageSource(query, scope);
  const behindStart = start ? ` AND ${behind(query, scope, start)}` : '';
  const read: ClickHouseRead<T> = {
    name: 'record page',
    sql: `SELECT ${select} FROM ${from} WHERE ${matchingSql(query, scope)}${behindStart} ORDER BY ${orderBy} LIMIT ${query.limit}${start ? '' : ` OFFSET ${query.offset}`}`,
    params: binder.params,
    row,
    ...(maxResultBytes !== undefined && { maxResultBytes }),
    settings: {
      ...IN_ORDER,
      // However deep the page.
      query_plan_max_limit_for_lazy_materialization: 0,
      // The newest records that match are found while all are counted: on two cores a thread of its own saves 6 of 41 ms of CPU.
      // Where nothing is counted, the newest traces of 20 M records take 13 ms on both cores and 24 on one.
      ...(query.sort ? LARGE_BLOCKS : clickhouse.isEmbedded && !isWhole(query) ? SHARED_CORES : {}),
    },
  };
  return isCounted ? clickhouse.page(read) : { rows: await clickhouse.query(read) };
}

/** The condition that a query's records meet, among rows that `inRun` limits. */
export function matching({ kinds, filter, findColumn }: RecordQuery, scope: Scope, inRun = scope.newest): CompiledFilter {
  const { sql, hasLargeSubqueries } = compileFilter(filter, { ...scope, kinds }, findColumn);
  return { sql: `${inRun}${ofKindsSql(scope.bind, kinds)} AND ${sql}`, hasLargeSubqueries };
}

export const matchingSql = (...of: Parameters<typeof matching>): string => matching(...of).sql;

/** Without stale rows the count of a kind comes from what the engine keeps of each part; so they are counted by themselves and taken off. */
async function countMatching(clickhouse: ClickHouse, query: RecordQuery, newest: NewestVersions): Promise<number> {
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const all = `SELECT count() AS total FROM ${scope.from} WHERE ${matchingSql(query, scope, scope.inRun)}`;
  const { stale, areListed } = newest;
  if (areListed)
    return countRows(clickhouse, `SELECT count() AS total FROM ${scope.from} WHERE ${matchingSql(query, scope)}`, binder);
  const ofStale = () => {
    const made = [...new Set(stale.map(({ createdAt }) => createdAt))];
    return `${all} AND created_at IN ${binder.bind(made, `Array(${TIME})`)} AND ${isStale(binder.bind, stale)}`;
  };
  return countRows(clickhouse, stale.length === 0 ? all : `SELECT (${all}) - (${ofStale()}) AS total`, binder);
}

/** @param sql selects `total` */
async function countRows(clickhouse: ClickHouse, sql: string, { params }: Binder): Promise<number> {
  const [row] = await clickhouse.query({
    name: 'record count',
    sql,
    params,
    row: (value) => Number((value as { total: string }).total),
  });
  return row ?? 0;
}

/** The rows a page is taken from, with the value of a metric beside them when it is sorted by one. */
export function pageSource(query: OrderedQuery, scope: Scope): { from: string; orderBy: string } {
  const tail = `records.created_at DESC, ${idOrder('records.id')} DESC`;
  if (!query.sort) return { from: scope.from, orderBy: tail };
  const direction = query.sort.ascending ? 'ASC' : 'DESC';
  return { from: sourceOf(query, scope), orderBy: `${sortValue(query, scope)} ${direction} NULLS LAST, ${tail}` };
}

function sourceOf(query: OrderedQuery, scope: Scope): string {
  const { sort, kinds } = query;
  if (!sort || !isSortedByOthers(query)) return scope.from;
  const { source } = sort.column;
  if (source.at === 'usage') {
    const sums = containersOf(kinds).map((container) =>
      usageSql(container, [source.name], { from: scope.from, where: scope.newest }),
    );
    return `${scope.from} LEFT ANY JOIN (SELECT container AS record_id, ${source.name} AS sort_value FROM (${sums.join(' UNION ALL ')})) AS scores ON scores.record_id = records.id`;
  }
  if (source.at !== 'metric') return scope.from;
  const value = metricValueColumn(sort.column);
  return `${scope.from} LEFT ANY JOIN (SELECT record_id, ${value} AS sort_value FROM metric_values FINAL WHERE ${scope.scoresInRun} AND metric = ${scope.bind(
    source.metric,
    'String',
  )} AND ${HAS_VALUE}) AS scores ON scores.record_id = records.id`;
}

export function sortValue(query: OrderedQuery, scope: Scope): string {
  const { sort } = query;
  if (!sort) return 'records.created_at';
  const { source } = sort.column;
  if (source.at === 'metric') return 'scores.sort_value';
  if (source.at === 'usage') return usageSortValue(source.name, query.kinds);
  // Without the kinds: by a column that has an index of least and greatest values the engine orders wrongly, as it takes the granules from that.
  const { value } = columnSql(sort.column, scope);
  return sort.column.dataType === 'uuid' ? idOrder(value) : value;
}

function usageSortValue(name: UsageMetric, kinds: readonly RecordKind[]): string {
  const containers = containersOf(kinds);
  if (containers.length === 0) return ownUsage(name);
  return containers.length === kinds.length
    ? 'scores.sort_value'
    : `if(records.type IN ('trace', 'session'), scores.sort_value, ${ownUsage(name)})`;
}

interface Start {
  /** Not named as the column: the engine would take the text for it in the condition of a retention. */
  createdAt: string;
  id: string;
  /** Printed form of the sort value; null when the record has none. */
  value: string | null;
}

/** Where the page before ended; undefined where its last record is not stored. */
async function startAfter(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  after: string,
  newest: NewestVersions,
): Promise<Start | undefined> {
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const id = binder.bind(after, 'UUID');
  const [start] = await clickhouse.query({
    name: 'end of the page before',
    sql: `SELECT records.id AS id, toString(records.created_at) AS createdAt, toString(${sortValue(query, scope)}) AS value FROM ${sourceOf(query, scope)} WHERE ${scope.newest} AND records.id = ${id} AND records.created_at IN (SELECT created_at FROM record_keys WHERE ${scope.inRun} AND id = ${id})`,
    params: binder.params,
    row: (row) => row as Start,
  });
  return start;
}

/** The records that the order of the page puts behind `start`. */
function behind(query: RecordPageQuery, scope: Scope, start: Start): string {
  const { bind } = scope;
  const time = bind(start.createdAt, TIME);
  const isLater = `records.created_at = ${time} AND ${idOrder('records.id')} < ${idOrder(bind(start.id, 'UUID'))}`;
  const tail = `(records.created_at < ${time} OR (${isLater}))`;
  if (!query.sort) return tail;
  const value = sortValue(query, scope);
  if (start.value === null) return `(isNull(${value}) AND ${tail})`;
  const bound = bind(start.value, sortType(query.sort.column));
  return `(${value} ${query.sort.ascending ? '>' : '<'} ${bound} OR isNull(${value}) OR (${value} = ${bound} AND ${tail}))`;
}

const sortTypes: Readonly<Record<string, string>> = {
  timestamp: TIME,
  uuid: 'UInt128',
  integer: 'Int64',
  floating_point: 'Float64',
  boolean: 'UInt8',
};

/** Booleans of records below roll up to a share, and a client may log a fraction where a metric counts: all numbers of metrics are of one type. */
const sortType = (column: ColumnDef): string =>
  column.source.at === 'metric' && metricValueColumn(column) === 'number' ? 'Float64' : (sortTypes[column.dataType] ?? 'String');
