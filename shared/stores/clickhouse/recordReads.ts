import type { StoredRecord } from '../../records/record.ts';
import type {
  OrderedQuery,
  RecordKey,
  RecordPageQuery,
  RecordQuery,
  StoredMetric,
  StoredReads,
} from '../../records/searchRecords.ts';
import { Binder, timeParam } from './binder.ts';
import { columnSql, HAS_VALUE, isStale, metricValueColumn, type Scope, scopeOf } from './columnSql.ts';
import { compileFilter } from './compileFilter.ts';
import type { ClickHouse } from './connect.ts';
import { keyOfRow } from './keyRow.ts';
import { metricPage } from './metricPage.ts';
import { metricOfRow } from './metricRow.ts';
import { byMerging, LastVersions, type NewestVersions } from './newestVersions.ts';
import { fromRow, type RecordRow } from './recordRow.ts';
import { selectedForRead } from './shortColumns.ts';

/** Reads of one page that are named by id go in groups of this many, so that no statement grows without bound. */
const KEYS_PER_READ = 1000;
const TIME = "DateTime64(6, 'UTC')";

/** Parts of one statement. */
const METRICS_AT_ONCE = 100;

/** The reads of a search over ClickHouse. Each names its run; rows of our own tables are mapped by hand, as a page has many. */
export function clickHouseRecordReads(clickhouse: ClickHouse): StoredReads {
  const versions = new LastVersions(clickhouse);
  const count = async (query: RecordQuery): Promise<number> =>
    (await versions.readWith(query.run, (newest) => countMatching(clickhouse, query, newest))).result;
  return {
    async page(query) {
      const byMetric = await metricPage(clickhouse, query, () => count(query));
      if (byMetric) return byMetric;
      const read = (among: NewestVersions) => pageAmong(clickhouse, query, among);
      const { newest, result } = await versions.readWith(query.run, read);
      const { hasDoubles, ...found } = result;
      // A version written since the stale ones were listed stands beside the one it replaced: on this page, which then holds too few records, or
      // among the rows before its offset, of which nothing is seen here and which then move it by one.
      const hasMoved = async () => query.offset > 0 && query.after === undefined && versions.haveChanged(query.run, newest);
      return hasDoubles || (await hasMoved()) ? read(byMerging) : found;
    },

    count,

    records: async (run, keys, columns) => {
      const selected = selectedForRead(columns);
      const read = (group: readonly RecordKey[]): Promise<StoredRecord[]> => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        return clickhouse.query({
          name: 'records of a page',
          sql: `SELECT ${selected} FROM records WHERE ${inRun} AND created_at IN ${bind(times(group), `Array(${TIME})`)} AND id IN ${bind(ids(group), 'Array(UUID)')} ORDER BY version DESC LIMIT 1 BY id`,
          params: binder.params,
          row: (row) => fromRow(run, row as RecordRow),
        });
      };
      return (await inGroups(keys, read)).flat();
    },

    async family(run, keys) {
      const rows = await inGroups(keys, (group) => {
        const binder = new Binder();
        const scope = scopeOf(binder.bind, run);
        const traces = [...new Set(group.flatMap(({ traceId }) => (traceId === null ? [] : [traceId])))];
        const parents = `groupUniqArrayIf(assumeNotNull(parent_id), parent_id IN ${binder.bind(ids(group), 'Array(UUID)')})`;
        return clickhouse.query({
          name: 'family of a page',
          sql: `SELECT groupUniqArrayIf(id, type = 'trace') AS traces, ${parents} AS parents FROM (${membersSql(scope, traces)})`,
          params: binder.params,
          row: (row) => row as { traces: string[]; parents: string[] },
        });
      });
      const found = rows.flat();
      return {
        storedTraces: new Set(found.flatMap(({ traces }) => traces)),
        parents: new Set(found.flatMap(({ parents }) => parents)),
      };
    },

    async incompleteTraces(run, traceIds) {
      const rows = await inGroups(traceIds, (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        const wanted = bind(group, 'Array(UUID)');
        // The index leads to the traces of which any version was incomplete; whether the newest one is, their rows say.
        const once = `SELECT created_at FROM records WHERE ${inRun} AND NOT trace_is_complete AND id IN ${wanted}`;
        return clickhouse.query({
          name: 'incomplete traces',
          sql: `SELECT id FROM records WHERE ${inRun} AND created_at IN (${once}) AND id IN ${wanted} GROUP BY id HAVING NOT argMax(trace_is_complete, version)`,
          params: binder.params,
          row: (row) => (row as { id: string }).id,
        });
      });
      return new Set(rows.flat());
    },

    async metricResults(run, keys, metrics) {
      const read = (place: (scope: Scope) => string) => {
        const binder = new Binder();
        const scope = scopeOf(binder.bind, run);
        const { bind, scoresInRun } = scope;
        const named = metrics === undefined ? '' : ` AND metric IN ${bind(metrics, 'Array(String)')}`;
        return clickhouse.query({
          name: 'metrics of a page',
          sql: `SELECT record_id, metric, status, value, explanation, metadata, details FROM metric_values WHERE ${scoresInRun}${named} AND ${place(scope)} ORDER BY version DESC LIMIT 1 BY record_id, metric`,
          params: binder.params,
          row: metricOfRow,
        });
      };
      const ofKeys = (group: readonly RecordKey[]) =>
        read(
          ({ bind }) =>
            `record_created_at IN ${bind(times(group), `Array(${TIME})`)} AND record_id IN ${bind(ids(group), 'Array(UUID)')}`,
        );
      const rows = isLargeTrace(keys) ? await read((scope) => inTraceOf(keys, scope)) : (await inGroups(keys, ofKeys)).flat();
      const byRecord = new Map<string, StoredMetric[]>();
      for (const { recordId, ...metric } of rows) byRecord.set(recordId, [...(byRecord.get(recordId) ?? []), metric]);
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

    async booleanMetrics(run, metrics, kinds) {
      const withNumbers = new Set<string>();
      for (let from = 0; from < metrics.length; from += METRICS_AT_ONCE) {
        const binder = new Binder();
        const { bind, scoresInRun } = scopeOf(binder.bind, run);
        const ofKinds = kinds ? ` AND record_type IN ${bind([...kinds], 'Array(String)')}` : '';
        // Each stops at the first number; a metric of booleans alone is a column that takes next to nothing.
        const anyNumber = (metric: string): string => {
          const name = bind(metric, 'String');
          return `(SELECT ${name} AS name FROM metric_values WHERE ${scoresInRun} AND metric = ${name} AND isNotNull(number) AND value NOT IN ('true', 'false')${ofKinds} LIMIT 1)`;
        };
        const found = await clickhouse.query({
          name: 'metrics with numbers',
          sql: metrics
            .slice(from, from + METRICS_AT_ONCE)
            .map(anyNumber)
            .join(' UNION ALL '),
          params: binder.params,
          row: (row) => (row as { name: string }).name,
        });
        for (const name of found) withNumbers.add(name);
      }
      return new Set(metrics.filter((metric) => !withNumbers.has(metric)));
    },

    async spanCounts(run, traceIds) {
      const counts = await inGroups(traceIds, (group) => {
        const binder = new Binder();
        return clickhouse.query({
          name: 'spans of traces',
          sql: `SELECT trace_id AS holder, count() AS held FROM (${membersSql(scopeOf(binder.bind, run), group)}) WHERE type NOT IN ('trace', 'session', '') GROUP BY trace_id`,
          params: binder.params,
          row: heldOfRow,
        });
      });
      return new Map(counts.flat());
    },

    async traceCounts(run, sessionIds) {
      const counts = await inGroups(sessionIds, (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        const wanted = bind(group, 'Array(UUID)');
        // A record that was moved has older keys that name where it was.
        const newest = `SELECT session_id, type FROM record_keys WHERE ${inRun} AND id IN (SELECT id FROM record_keys WHERE ${inRun} AND session_id IN ${wanted}) ORDER BY version DESC LIMIT 1 BY id`;
        return clickhouse.query({
          name: 'traces of sessions',
          sql: `SELECT session_id AS holder, count() AS held FROM (${newest}) WHERE type = 'trace' AND session_id IN ${wanted} GROUP BY session_id`,
          params: binder.params,
          row: heldOfRow,
        });
      });
      return new Map(counts.flat());
    },
  };
}

async function pageAmong(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  newest: NewestVersions,
): Promise<{ keys: RecordKey[]; total: number; hasDoubles: boolean }> {
  const start = await startAfter(clickhouse, query, newest);
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const { from, orderBy } = pageSource(query, scope);
  const matching = matchingSql(query, scope);
  // The count is a statement of its own: it reads the columns of the filter alone, or none at all.
  const [found, total] = await Promise.all([
    clickhouse.query({
      name: 'record page',
      sql: `SELECT records.id AS id, records.created_at AS created_at, records.type AS type, records.trace_id AS trace_id FROM ${from} WHERE ${matching}${
        start ? ` AND ${behind(query, scope, start)}` : ''
      } ORDER BY ${orderBy} LIMIT ${query.limit}${start ? '' : ` OFFSET ${query.offset}`}`,
      params: binder.params,
      row: keyOfRow,
      // A part is read as far as the page needs it, not in blocks of its own (offset 10,000 of 0.4 M: 10 ms of CPU instead of 18).
      settings: { read_in_order_use_buffering: 0 },
    }),
    countMatching(clickhouse, query, newest),
  ]);
  return { keys: found, total, hasDoubles: new Set(found.map(({ id }) => id)).size < found.length };
}

/** The condition that a query's records meet, among rows that `inRun` limits. */
export function matchingSql({ kinds, filter, findColumn }: RecordQuery, scope: Scope, inRun = scope.newest): string {
  return `${inRun} AND type IN ${scope.bind(kinds, 'Array(String)')} AND ${compileFilter(filter, { ...scope, kinds }, findColumn)}`;
}

/** Without stale rows the count of a kind comes from what the engine keeps of each part; so they are counted by themselves and taken off. */
async function countMatching(clickhouse: ClickHouse, query: RecordQuery, newest: NewestVersions): Promise<number> {
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const all = `SELECT count() AS total FROM ${scope.from} WHERE ${matchingSql(query, scope, scope.inRun)}`;
  const { stale } = newest;
  const ofStale = () => {
    const made = [...new Set(stale.map(({ createdAt }) => createdAt))];
    return `${all} AND created_at IN ${binder.bind(made, `Array(${TIME})`)} AND ${isStale(binder.bind, stale)}`;
  };
  const [row] = await clickhouse.query({
    name: 'record count',
    sql: stale.length === 0 ? all : `SELECT (${all}) - (${ofStale()}) AS total`,
    params: binder.params,
    row: (value) => Number((value as { total: string }).total),
  });
  return row ?? 0;
}

/** The rows a page is taken from, with the value of a metric beside them when it is sorted by one. */
export function pageSource(query: OrderedQuery, scope: Scope): { from: string; orderBy: string } {
  const tail = 'records.created_at DESC, records.id DESC';
  if (!query.sort) return { from: scope.from, orderBy: tail };
  const direction = query.sort.ascending ? 'ASC' : 'DESC';
  return { from: sourceOf(query, scope), orderBy: `${sortValue(query, scope)} ${direction} NULLS LAST, ${tail}` };
}

function sourceOf({ sort }: OrderedQuery, { bind, scoresInRun, from }: Scope): string {
  if (sort?.column.source.at !== 'metric') return from;
  const value = metricValueColumn(sort.column);
  return `${from} LEFT ANY JOIN (SELECT record_id, ${value} AS sort_value FROM metric_values FINAL WHERE ${scoresInRun} AND metric = ${bind(
    sort.column.source.metric,
    'String',
  )} AND ${HAS_VALUE}) AS scores ON scores.record_id = records.id`;
}

export function sortValue({ sort }: OrderedQuery, scope: Scope): string {
  if (!sort) return 'records.created_at';
  if (sort.column.source.at === 'metric') return 'scores.sort_value';
  // Without the kinds: by a column that has an index of least and greatest values the engine orders wrongly, as it takes the granules from that.
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
async function startAfter(clickhouse: ClickHouse, query: RecordPageQuery, newest: NewestVersions): Promise<Start | undefined> {
  if (query.after === undefined) return undefined;
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run, newest);
  const id = binder.bind(query.after, 'UUID');
  const [start] = await clickhouse.query({
    name: 'end of the page before',
    sql: `SELECT records.id AS id, toString(records.created_at) AS created_at, toString(${sortValue(query, scope)}) AS value FROM ${sourceOf(query, scope)} WHERE ${scope.newest} AND records.id = ${id} AND records.created_at IN (SELECT created_at FROM record_keys WHERE ${scope.inRun} AND id = ${id})`,
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

/** The newest row of every record of these traces: id, trace_id, parent_id and type. */
function membersSql({ bind, inRun }: Scope, traceIds: readonly string[]): string {
  const wanted = bind(traceIds, 'Array(UUID)');
  return `SELECT id, trace_id, parent_id, type FROM trace_members WHERE ${inRun} AND trace_id IN ${wanted} ORDER BY version DESC LIMIT 1 BY trace_id, id`;
}

const heldOfRow = (row: unknown): [string, number] => {
  const { holder, held } = row as { holder: string; held: string };
  return [holder, Number(held)];
};

const isLargeTrace = (keys: readonly RecordKey[]): boolean =>
  keys.length > KEYS_PER_READ && keys.every(({ traceId }) => traceId !== null && traceId === keys[0]?.traceId);

/** The place of the values of a trace, without naming each of its records. */
function inTraceOf(keys: readonly RecordKey[], { bind, inRun }: Scope): string {
  const sorted = times(keys).sort();
  const range = `record_created_at BETWEEN ${bind(sorted[0] as string, TIME)} AND ${bind(sorted.at(-1) as string, TIME)}`;
  return `${range} AND record_id IN (SELECT id FROM trace_members WHERE ${inRun} AND trace_id = ${bind(keys[0]?.traceId as string, 'UUID')})`;
}

async function inGroups<K, R>(keys: readonly K[], read: (group: readonly K[]) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_READ) results.push(await read(keys.slice(from, from + KEYS_PER_READ)));
  return results;
}

const ids = (keys: readonly RecordKey[]): string[] => keys.map(({ id }) => id);
const times = (keys: readonly RecordKey[]): string[] => [...new Set(keys.map(({ createdAt }) => timeParam(createdAt)))];
