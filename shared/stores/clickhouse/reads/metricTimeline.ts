import { isUsageMetric, type OwnNumber, ownNumbers, WITHOUT_COST } from '../../../columns/systemMetrics.ts';
import type { CountCell, MetricCell, TimelineGroups, TimelineQuery, TimelineReads } from '../../../records/metricTimeline.ts';
import { Binder, TIME, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { columnSql, HAS_VALUE, type Scope, scopeOf } from '../filters/columnSql.ts';
import { compileFilter } from '../filters/compileFilter.ts';
import { isCounted } from '../tables/usageSql.ts';
import { aggregatesOf, Distribution, distributionSql, Figures, figuresSql } from './aggregateSql.ts';
import { type RecordVersions, RunVersions } from './runVersions.ts';

/** Figures of metrics over time: one pass over the records of the range, and one over their scores. */
export function clickhouseMetricTimeline(clickhouse: ClickHouse): TimelineReads {
  const versions = new RunVersions(clickhouse);
  const begin = async (query: TimelineQuery) => scopeIn(query, await versions.ofRecords(query.run));
  return {
    async groups(query, limit) {
      const { scope, params } = await begin(query);
      const largest = (areOwn: boolean, first: string) =>
        clickhouse.query({
          name: 'groups of a timeline',
          sql: `SELECT ${groupSql(query, scope, areOwn)} AS grp, countIf(${IS_SPAN}) > 0 AS has_spans FROM ${withGroupsSql(query, scope, areOwn)} WHERE ${matching(query, scope)} GROUP BY grp ORDER BY ${first}count() DESC, grp LIMIT ${limit}`,
          params,
          row: (row) => row as { grp: string; has_spans: number | boolean },
        });
      const namesOf = (rows: readonly { grp: string }[]) => rows.map(({ grp }) => grp);
      if (!isOnRecord(query)) return { names: namesOf(await largest(true, '')), areOwn: true };
      // Nearly always each record has a value of its own: then nothing is joined.
      const own = await largest(true, "(grp = '' AND has_spans) DESC, ");
      if (own[0]?.grp !== '' || !own[0].has_spans) return { names: namesOf(own), areOwn: true };
      return { names: namesOf(await largest(false, '')), areOwn: false };
    },

    async counts(query, groups) {
      const { scope, params } = await begin(query);
      return clickhouse.query({
        name: 'records over time',
        sql: `SELECT grouping(bucket) AS whole, grp, bucket, countIf(type = 'trace') AS traces, countIf(type NOT IN ('trace', 'session')) AS spans,
                uniqExactIf(session_id, type = 'session' OR session_id != trace_id) AS sessions
              FROM (SELECT type, session_id, trace_id, ${cellSql(query, scope, groups, 'created_at')} FROM ${withGroupsSql(query, scope, groups.areOwn)} WHERE ${matching(query, scope)})
              GROUP BY GROUPING SETS ((grp, bucket), ())`,
        params,
        row: toCount,
      });
    },

    async metrics(query, groups, metrics) {
      const { scope, params } = await begin(query);
      return clickhouse.query({
        name: 'metrics over time',
        sql: `SELECT
                grouping(bucket) AS whole, grp, bucket, metric,
                countIf(${HAS_VALUE}) AS succeeded, countIf(status IN ('failed', 'error')) AS failed,
                ${figuresSql('number', 'is_boolean')} AS figures, ${distributionSql('categories')} AS distribution,
                anyLastIf(details, status IN ('failed', 'error') AND JSONHas(details, 'standard_error')) AS failure
              FROM (${[ownNumbersSql, ...(isOfScores(metrics) ? [scoresSql] : [])].map((sql) => sql(query, scope, groups, metrics)).join(' UNION ALL ')})
              GROUP BY GROUPING SETS ((metric, grp, bucket), (metric))`,
        params,
        row: toCell,
      });
    },
  };
}

function scopeIn({ run }: TimelineQuery, { newest }: RecordVersions) {
  const binder = new Binder();
  return { scope: scopeOf(binder.bind, run, newest), params: binder.params };
}

const inRange = ({ from, to }: TimelineQuery, { bind }: Scope, time: string): string =>
  `${time} >= ${bind(timeParam(from), TIME)} AND ${time} < ${bind(timeParam(to), TIME)}`;

const matching = (query: TimelineQuery, scope: Scope): string =>
  `${scope.newest} AND ${inRange(query, scope, 'created_at')} AND ${compileFilter(query.filter, scope, query.findColumn).sql}`;

const IS_SPAN = "type NOT IN ('trace', 'session')";

const ownGroupSql = ({ groupBy }: TimelineQuery, scope: Scope): string =>
  groupBy ? `ifNull(toString(${columnSql(groupBy, scope).value}), '')` : "''";

/** A span without a value of its own belongs to the group of its trace: who slices by what traces say wants the tokens of their calls there. */
const groupSql = (query: TimelineQuery, scope: Scope, areOwn: boolean): string =>
  isOnRecord(query) && !areOwn
    ? `if(${ownGroupSql(query, scope)} = '' AND ${IS_SPAN}, trace_group, ${ownGroupSql(query, scope)})`
    : ownGroupSql(query, scope);

/** Returns true when the records are grouped by a value that they hold themselves. */
const isOnRecord = ({ groupBy }: TimelineQuery): boolean => groupBy?.source.at === 'record' || groupBy?.source.at === 'map';

/** Selects the records where their group is asked for: beside the groups of the traces whose spans have none of their own. */
function withGroupsSql(query: TimelineQuery, scope: Scope, areOwn: boolean): string {
  if (!isOnRecord(query) || areOwn) return scope.from;
  const asked = `SELECT assumeNotNull(trace_id) FROM ${scope.from} WHERE ${matching(query, scope)} AND ${IS_SPAN} AND ${ownGroupSql(query, scope)} = ''`;
  const groups = `SELECT id AS container, ${ownGroupSql(query, scope)} AS trace_group FROM ${scope.from} WHERE ${scope.newest} AND type = 'trace' AND id IN (${asked})`;
  return `${scope.from} LEFT JOIN (${groups}) AS containers ON trace_id = container`;
}

/** `grp` (NULL for a group that is not shown) and `bucket`. */
function cellSql(query: TimelineQuery, scope: Scope, { names, areOwn }: TimelineGroups, time: string): string {
  const group = groupSql(query, scope, areOwn);
  const shown = query.groupBy ? `if(has(${scope.bind(names, 'Array(String)')}, ${group}), ${group}, NULL)` : 'NULL';
  return `CAST(${shown} AS Nullable(String)) AS grp, ${bucketSql(query, scope, time)} AS bucket`;
}

const bucketSql = ({ from, bucketMinutes }: TimelineQuery, { bind }: Scope, time: string): string =>
  `intDiv(dateDiff('microsecond', ${bind(timeParam(from), TIME)}, ${time}), ${bind(String(bucketMinutes * 60_000_000), 'Int64')})`;

function ownNumbersSql(query: TimelineQuery, scope: Scope, groups: TimelineGroups, metrics?: readonly string[]): string {
  const names = ownNumbers.filter((name) => metrics === undefined || metrics.includes(name));
  const measures = names.map((name) => {
    const of = numbersOf(name, query, scope);
    const number = name === WITHOUT_COST ? 'if(isNull(cost), 1, NULL)' : name;
    const value = of === undefined ? number : `if(${of}, ${number}, NULL)`;
    return `(${scope.bind(name, 'String')}, CAST(${value} AS Nullable(Float64)))`;
  });
  const all = measures.length > 0 ? `[${measures.join(', ')}]` : 'CAST([] AS Array(Tuple(String, Nullable(Float64))))';
  return `SELECT grp, bucket, measure.1 AS metric, measure.2 AS number, false AS is_boolean, CAST([] AS Array(String)) AS categories, 'success' AS status, '' AS details
          FROM (SELECT ${cellSql(query, scope, groups, 'created_at')}, arrayFilter(measure -> isNotNull(measure.2), ${all}) AS measures FROM ${withGroupsSql(query, scope, groups.areOwn)} WHERE ${matching(query, scope)})
          ARRAY JOIN measures AS measure`;
}

/** The records whose number it is; undefined: all. Usage is that which counts, where kinds are asked for that of calls and all of others. */
function numbersOf(name: OwnNumber, { ownNumbersOf }: TimelineQuery, { bind }: Scope): string | undefined {
  const kind = ownNumbersOf?.[name];
  if (!isUsageMetric(name)) return kind && `type = ${bind(kind, 'String')}`;
  if (kind) return isCounted(name, '');
  return name === WITHOUT_COST ? `type = 'llm' AND ${isCounted(name, '')}` : `(type != 'llm' OR ${isCounted(name, '')})`;
}

const own: ReadonlySet<string> = new Set(ownNumbers);
const isOwn = (metric: string): boolean => own.has(metric);

/** The records' own numbers are read from them; former releases made a cost a value of a metric as well. */
const isOfScores = (metrics?: readonly string[]): boolean => metrics === undefined || !metrics.every(isOwn);

function scoresSql(query: TimelineQuery, scope: Scope, groups: TimelineGroups, metrics?: readonly string[]): string {
  const named =
    metrics === undefined
      ? `metric NOT IN ${scope.bind([...ownNumbers], 'Array(String)')}`
      : `metric IN ${scope.bind(
          metrics.filter((metric) => !isOwn(metric)),
          'Array(String)',
        )}`;
  const scores = `SELECT record_id, record_created_at, toString(metric) AS metric, number, value IN ('true', 'false') AS is_boolean,
                    multiIf(is_boolean, [value], isNotNull(text), [assumeNotNull(text)], arrayDistinct(texts)) AS categories, toString(status) AS status, details
                  FROM metric_values FINAL WHERE ${scope.scoresInRun} AND ${inRange(query, scope, 'record_created_at')} AND ${named} AND status != 'roll_up'`;
  const shown = 'grp, bucket, metric, number, is_boolean, categories, status, details';
  const isWholeRun = 'and' in query.filter && query.filter.and.length === 0;
  if (isWholeRun && !query.groupBy)
    return `SELECT CAST(NULL AS Nullable(String)) AS grp, ${bucketSql(query, scope, 'record_created_at')} AS bucket, metric, number, is_boolean, categories, status, details FROM (${scores})`;
  return `SELECT ${shown} FROM (${scores}) AS scores INNER JOIN (SELECT id, ${cellSql(query, scope, groups, 'created_at')} FROM ${withGroupsSql(query, scope, groups.areOwn)} WHERE ${matching(query, scope)}) AS places ON scores.record_id = places.id`;
}

interface CellKeyRow {
  whole: number;
  grp: string | null;
  bucket: string;
}

const toCellKey = ({ whole, grp, bucket }: CellKeyRow) =>
  Number(whole) === 1 ? { group: null, bucket: null } : { group: grp, bucket: Number(bucket) };

function toCount(row: unknown): CountCell {
  const { traces, sessions, spans } = row as Record<string, string>;
  return { ...toCellKey(row as CellKeyRow), traces: Number(traces), sessions: Number(sessions), spans: Number(spans) };
}

interface CellRow extends CellKeyRow {
  metric: string;
  succeeded: string;
  failed: string;
  figures: unknown;
  distribution: unknown;
  failure: string;
}

function toCell(row: unknown): MetricCell {
  const cell = row as CellRow;
  return {
    ...toCellKey(cell),
    metric: cell.metric,
    failed: Number(cell.failed),
    standardError: cell.failure === '' ? null : JSON.parse(cell.failure).standard_error,
    aggregates: aggregatesOf(Figures.parse(cell.figures), Number(cell.succeeded), Distribution.parse(cell.distribution)),
  };
}
