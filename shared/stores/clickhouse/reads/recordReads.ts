import type { StoredRecord } from '../../../records/record.ts';
import type { RecordKey, RecordRun, StoredMetric, StoredReads } from '../../../records/searchRecords.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { Binder, TIME, timeParam } from '../binder.ts';
import { type ClickHouse, threadsFor } from '../clickHouse.ts';
import { HAS_VALUE, ofKindsSql, type Scope, scopeOf } from '../filters/columnSql.ts';
import { inChunks } from '../inChunks.ts';
import { metricOfRow } from '../tables/metricRow.ts';
import { recordRows } from '../tables/recordRow.ts';
import { TEXT_BYTES } from '../tables/shortColumnsCache.ts';
import { isOverSize, recordPages } from './recordPages.ts';
import { RunVersions } from './runVersions.ts';
import { membersOf, membersSql, usageOfRecords, usageOfTraces } from './traceMembers.ts';

/** Reads of one page that are named by id go in groups of this many, so that no statement grows without bound. */
const KEYS_PER_READ = 1000;

/** Values of metrics, with their explanations, of a group of records: a page of 1,000 records may have 134 kB of them each. */
const MAX_DERIVED_BYTES = 128 * 1024 * 1024;

/** Metrics that are searched one by one, as parts of one statement. Of more all values are read: of 50,000 148 s were spent on searches of their own. */
const METRICS_AT_ONCE = 100;

type Queries = Pick<ClickHouse, 'query'>;

/** The reads of a search over ClickHouse. Each names its run; rows of our own tables are mapped by hand, as a page has many. */
export function clickHouseRecordReads(clickhouse: ClickHouse, versions = new RunVersions(clickhouse)): StoredReads {
  return {
    ...recordPages(clickhouse, versions),

    async records(run, keys, columns, longest) {
      return inReads(keys, (group) => recordsOf(clickhouse, run, group, columns, { longest }));
    },

    async recordsWithin(run, keys, columns, maxBytes, areLarge) {
      const records: StoredRecord[] = [];
      let left = maxBytes;
      for (let from = 0; from < keys.length; from += KEYS_PER_READ) {
        const group = keys.slice(from, from + KEYS_PER_READ);
        // Pages are small as a rule: how large the texts are is asked where they turn out not to be, and between the groups of a long page.
        const whole = areLarge
          ? undefined
          : await unlessOverSize(recordsOf(clickhouse, run, group, columns, { maxResultBytes: left }));
        if (whole && keys.length <= KEYS_PER_READ) return { records: whole, taken: keys.length };
        const sizes = await textBytes(clickhouse, run, group);
        const bytesOf = ({ id }: RecordKey) => sizes.get(id) ?? 0;
        if (whole) {
          records.push(...whole);
          left -= group.reduce((sum, key) => sum + bytesOf(key), 0);
          continue;
        }
        const fitting = group.findIndex((key) => {
          left -= bytesOf(key);
          return left < 0;
        });
        const taken = Math.max(fitting === -1 ? group.length : fitting, from === 0 ? 1 : 0);
        if (taken > 0) records.push(...(await recordsOf(clickhouse, run, group.slice(0, taken), columns)));
        return { records, taken: from + taken };
      }
      return { records, taken: keys.length };
    },

    async family(run, keys) {
      const traces = [...new Set(keys.flatMap(({ traceId }) => (traceId === null ? [] : [traceId])))];
      const shown = new Set(ofKind(keys, 'trace'));
      // By trace, not by record: of a page of 10,000 spans of one trace its members were read ten times, 0.4 s.
      const found = await inReads(traces, async (group) => {
        const members = await membersOf(clickhouse, run, group, { among: ids(keys), withSums: shown.size > 0 });
        const ofShown = members.filter(({ trace }) => shown.has(trace));
        const usage = await usageOfTraces(clickhouse, run, ofShown);
        return [{ members, usage }];
      });
      const members = found.flatMap((one) => one.members);
      return {
        storedTraces: new Set(members.flatMap(({ trace, isStored }) => (isStored ? [trace] : []))),
        parents: new Set(members.flatMap(({ parents }) => parents)),
        usage: new Map(found.flatMap((one) => one.usage)),
      };
    },

    async incompleteTraces(run, traceIds) {
      const rows = await inReads(traceIds, async (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        // The index leads to the traces of which any version was incomplete: mostly none. Whether the newest one is, their rows say.
        const once = await clickhouse.query({
          name: 'traces that were incomplete',
          sql: `SELECT id, created_at FROM records WHERE ${inRun} AND NOT trace_is_complete AND id IN ${bind(group, 'Array(UUID)')}`,
          params: binder.params,
          ...threadsFor(group),
          row: (row) => row as { id: string; created_at: string },
        });
        if (once.length === 0) return [];
        const made = bind([...new Set(once.map(({ created_at }) => created_at))], `Array(${TIME})`);
        const among = bind([...new Set(once.map(({ id }) => id))], 'Array(UUID)');
        return clickhouse.query({
          name: 'incomplete traces',
          sql: `SELECT id FROM records WHERE ${inRun} AND created_at IN ${made} AND id IN ${among} GROUP BY id HAVING NOT argMax(trace_is_complete, version)`,
          params: binder.params,
          ...threadsFor(once),
          row: (row) => (row as { id: string }).id,
        });
      });
      return new Set(rows);
    },

    async metricResults(run, keys, metrics) {
      const read = (of: readonly RecordKey[], place: (scope: Scope) => string) => {
        const binder = new Binder();
        const scope = scopeOf(binder.bind, run);
        const { bind, scoresInRun } = scope;
        const named = metrics === undefined ? '' : ` AND metric IN ${bind(metrics, 'Array(String)')}`;
        return clickhouse.query({
          name: 'metrics of a page',
          sql: `SELECT record_id, metric, status, value, explanation, metadata, details, scorer_id FROM metric_values WHERE ${scoresInRun}${named} AND ${place(scope)} ORDER BY version DESC LIMIT 1 BY record_id, metric`,
          params: binder.params,
          ...threadsFor(of),
          row: metricOfRow,
          maxResultBytes: MAX_DERIVED_BYTES,
        });
      };
      const ofKeys = (group: readonly RecordKey[]) =>
        read(
          group,
          ({ bind }) =>
            `record_created_at IN ${bind(times(group), `Array(${TIME})`)} AND record_id IN ${bind(ids(group), 'Array(UUID)')}`,
        );
      const rows = isLargeTrace(keys) ? await read(keys, (scope) => inTraceOf(keys, scope)) : await inReads(keys, ofKeys);
      const byRecord = new Map<string, StoredMetric[]>();
      for (const { recordId, ...metric } of rows) {
        const known = byRecord.get(recordId);
        if (known) known.push(metric);
        else byRecord.set(recordId, [metric]);
      }
      return byRecord;
    },

    async metricsWithValues(run, { from, to }) {
      const binder = new Binder();
      const { bind, scoresInRun, inRun } = scopeOf(binder.bind, run);
      const within = (time: string): string =>
        (from === undefined ? '' : ` AND ${time} >= ${bind(timeParam(from), TIME)}`) +
        (to === undefined ? '' : ` AND ${time} <= ${bind(timeParam(to), TIME)}`);
      return clickhouse.query({
        name: 'metrics with values',
        sql: `SELECT metric, dataType FROM (SELECT metric, multiIf(countIf(isNotNull(number)) > 0, 'floating_point', countIf(notEmpty(texts)) > 0, 'string_list', 'text') AS dataType FROM metric_values WHERE ${scoresInRun}${within('record_created_at')} AND metric != 'cost' AND ${HAS_VALUE} GROUP BY metric
              UNION ALL (SELECT 'cost', 'floating_point' FROM records WHERE ${inRun}${within('created_at')} AND isNotNull(cost) LIMIT 1)) ORDER BY metric`,
        params: binder.params,
        row: (row) => row as { metric: string; dataType: 'floating_point' | 'text' | 'string_list' },
      });
    },

    async booleanMetrics(run, metrics, kinds) {
      const found = await withNumbers(clickhouse, run, metrics, kinds);
      return new Set(metrics.filter((metric) => !found.has(metric)));
    },

    async spanCounts(run, traceIds) {
      const counts = await inReads(traceIds, (group) => {
        const binder = new Binder();
        return clickhouse.query({
          name: 'spans of traces',
          sql: `SELECT trace_id AS container, count() AS records FROM (${membersSql(scopeOf(binder.bind, run), group)}) WHERE type NOT IN ('trace', 'session', '') GROUP BY trace_id`,
          params: binder.params,
          ...threadsFor(group),
          row: countOfRow,
        });
      });
      return new Map(counts);
    },

    async traceCounts(run, sessionIds) {
      const counts = await inReads(sessionIds, (group) => {
        const binder = new Binder();
        const { bind, inRun } = scopeOf(binder.bind, run);
        const wanted = bind(group, 'Array(UUID)');
        // A record that was moved has older keys that name where it was.
        const newest = `SELECT session_id, type FROM record_keys WHERE ${inRun} AND id IN (SELECT id FROM record_keys WHERE ${inRun} AND session_id IN ${wanted}) ORDER BY version DESC LIMIT 1 BY id`;
        return clickhouse.query({
          name: 'traces of sessions',
          sql: `SELECT session_id AS container, count() AS records FROM (${newest}) WHERE type = 'trace' AND session_id IN ${wanted} GROUP BY session_id`,
          params: binder.params,
          ...threadsFor(group),
          row: countOfRow,
        });
      });
      return new Map(counts);
    },

    async usage(run, keys) {
      const found = await Promise.all([
        inReads(ofKind(keys, 'trace'), async (group) => usageOfTraces(clickhouse, run, await membersOf(clickhouse, run, group))),
        inReads(ofKind(keys, 'session'), (group) => usageOfRecords(clickhouse, run, 'session', group)),
      ]);
      return new Map(found.flat());
    },
  };
}

async function recordsOf(
  clickhouse: Queries,
  run: RecordRun,
  keys: readonly RecordKey[],
  columns: readonly string[] | undefined,
  { longest, maxResultBytes }: { longest?: number | undefined; maxResultBytes?: number } = {},
): Promise<StoredRecord[]> {
  if (keys.length === 0) return [];
  const { select, row } = recordRows(run, columns, false, longest);
  const binder = new Binder();
  const { bind, inRun } = scopeOf(binder.bind, run);
  const found = await clickhouse.query({
    name: 'records of a page',
    sql: `SELECT ${select} FROM records WHERE ${inRun} AND created_at IN ${bind(times(keys), `Array(${TIME})`)} AND id IN ${bind(ids(keys), 'Array(UUID)')} ORDER BY version DESC LIMIT 1 BY id`,
    params: binder.params,
    ...threadsFor(keys),
    row,
    ...(maxResultBytes !== undefined && { maxResultBytes: Math.max(1, maxResultBytes) }),
  });
  const byId = new Map(found.map((record) => [record.id, record]));
  return keys.flatMap(({ id }) => byId.get(id) ?? []);
}

const unlessOverSize = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((err: unknown) => {
    if (!isOverSize(err)) throw err;
    return undefined;
  });

async function textBytes(clickhouse: Queries, run: RecordRun, keys: readonly RecordKey[]): Promise<Map<string, number>> {
  const binder = new Binder();
  const { bind, inRun } = scopeOf(binder.bind, run);
  const rows = await clickhouse.query({
    name: 'sizes of a page',
    sql: `SELECT id, max(${TEXT_BYTES}) AS bytes FROM records WHERE ${inRun} AND created_at IN ${bind(times(keys), `Array(${TIME})`)} AND id IN ${bind(ids(keys), 'Array(UUID)')} GROUP BY id`,
    params: binder.params,
    ...threadsFor(keys),
    row: (row) => row as { id: string; bytes: string },
  });
  return new Map(rows.map(({ id, bytes }) => [id, Number(bytes)]));
}

/** Those of the metrics that have a number in a record of these kinds. */
async function withNumbers(
  clickhouse: Queries,
  run: RecordRun,
  metrics: readonly string[],
  kinds: readonly RecordKind[] | undefined,
): Promise<Set<string>> {
  if (metrics.length === 0) return new Set();
  const binder = new Binder();
  const { bind, scoresInRun } = scopeOf(binder.bind, run);
  const ofKinds = kinds ? ofKindsSql(bind, kinds, 'record_type') : '';
  const numbers = `FROM metric_values WHERE ${scoresInRun} AND isNotNull(number) AND value NOT IN ('true', 'false')${ofKinds}`;
  // Each search stops at the first number; a metric of booleans alone is a column that takes next to nothing.
  const anyNumber = (metric: string): string => {
    const name = bind(metric, 'String');
    return `(SELECT ${name} AS name ${numbers} AND metric = ${name} LIMIT 1)`;
  };
  const isEach = metrics.length <= METRICS_AT_ONCE;
  const found = await clickhouse.query({
    name: 'metrics with numbers',
    sql: isEach ? metrics.map(anyNumber).join(' UNION ALL ') : `SELECT DISTINCT toString(metric) AS name ${numbers}`,
    params: binder.params,
    row: (row) => (row as { name: string }).name,
  });
  return new Set(found);
}

const countOfRow = (row: unknown): [string, number] => {
  const { container, records } = row as { container: string; records: string };
  return [container, Number(records)];
};

const isLargeTrace = (keys: readonly RecordKey[]): boolean =>
  keys.length > KEYS_PER_READ && keys.every(({ traceId }) => traceId !== null && traceId === keys[0]?.traceId);

/** The place of the values of a trace, without naming each of its records. */
function inTraceOf(keys: readonly RecordKey[], { bind, inRun }: Scope): string {
  const sorted = times(keys).sort();
  const range = `record_created_at BETWEEN ${bind(sorted[0] as string, TIME)} AND ${bind(sorted.at(-1) as string, TIME)}`;
  return `${range} AND record_id IN (SELECT id FROM trace_members WHERE ${inRun} AND trace_id = ${bind(keys[0]?.traceId as string, 'UUID')})`;
}

/** Reads what belongs to any number of keys, so many at a time. */
const inReads = <K, R>(keys: readonly K[], read: (group: readonly K[]) => Promise<R[]>): Promise<R[]> =>
  inChunks(keys, read, KEYS_PER_READ);

const ofKind = (keys: readonly RecordKey[], kind: RecordKind): string[] =>
  keys.filter(({ type }) => type === kind).map(({ id }) => id);
const ids = (keys: readonly RecordKey[]): string[] => keys.map(({ id }) => id);
const times = (keys: readonly RecordKey[]): string[] => [...new Set(keys.map(({ createdAt }) => timeParam(createdAt)))];
