import { z } from 'zod';
import {
  type ComparedRuns,
  type ComparisonReads,
  isYesOrNo,
  type MatchedRows,
  type MetricSide,
  type PairedMetric,
  type PairsQuery,
  type RowCondition,
  type RowOutline,
  type RowPageQuery,
} from '../../../comparison/comparisonReads.ts';
import { measuredMetrics } from '../../../experiments/aggregates.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { FAILED } from '../../../records/failed.ts';
import { LIMIT_PAIRS } from '../../../statistics/pairedTest.ts';
import { Binder, timeOfColumn } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { HAS_VALUE, scopeOfRuns } from '../filters/columnSql.ts';
import type { NewestVersions } from '../tables/newestVersions.ts';
import { type ComparedRowsSql, comparedRowsSql, type SideIndex } from './comparedRows.ts';
import { RunVersions } from './runVersions.ts';

/** Distinct differences of many pairs that are still counted: rounding alone makes some of each, which become one again later. */
const MAX_DISTINCT = 2_000;
/** Values of a slice's column. */
const MAX_SLICES = 20;
/** Pairs of labels of one metric: those of fifty categories. */
export const MAX_LABEL_PAIRS = 2_500;
/** Joining and grouping millions of values takes longer than a page. */
const MAX_SECONDS = 120;

/** On a server, too, without machine code (see chdbSession.ts): made for a comparison it takes 150 ms. */
const asWritten = { compile_expressions: 0, compile_aggregate_expressions: 0, compile_sort_description: 0 };

const count = z.coerce.number();
const figure = z.number().nullable();

const Version = z.object({ run: z.string(), rows: z.string(), newest: z.string() });
const Outline = z
  .object({ run: z.string(), rows: count, failed: count, withDatasetRow: count, withDatasetInput: count, keys: count })
  .transform(({ keys, ...outline }) => ({ ...outline, repeats: keys < outline.rows }));
const Rows: z.ZodType<MatchedRows> = z.object({ matched: count, onlyInBaseline: count, onlyInOther: count, changed: count });
const Metrics = z.object({ run: z.string(), names: z.array(z.string()) });
const Side = z.tuple([count, count, count, count, figure, z.array(figure)]).transform(
  ([booleans, numbers, labels, infinite, mean, [p50 = null, p95 = null]]): MetricSide => ({
    booleans,
    numbers,
    labels,
    infinite,
    mean,
    p50,
    p95,
  }),
);
const Paired = z.object({
  m: count,
  slice: z.string().nullable(),
  baseline: Side,
  other: Side,
  pairs: count,
  mean: figure,
  deviation: figure,
  squares: figure,
  below: count,
  above: count,
  missing: count,
  differences: z.array(z.number()),
  are_many: z.coerce.boolean(),
});
const Distinct = z.object({ m: count, slice: z.string().nullable(), difference: z.number(), counted: count });
const Keys = z
  .array(z.tuple([z.string(), z.string()]))
  .transform((keys) => keys.map(([made, id]) => ({ id, type: 'trace' as const, createdAt: timeOfColumn(made), traceId: id })));
const RowOfPage = z
  .object({ baseline: Keys, other: Keys, differs: z.coerce.boolean() })
  .transform(({ baseline, other, differs }) => ({ baseline, other, contentChanged: differs }));
const Labels = z.object({
  metric: z.string(),
  slice: z.string().nullable(),
  baseline: z.string(),
  other: z.string(),
  rows: count,
});

/** Reads the figures of comparisons. The engine matches the rows, averages values and sums them up; it sends no row. */
export function clickhouseComparisonReads(clickhouse: ClickHouse): ComparisonReads {
  const versions = new RunVersions(clickhouse);
  const newestOf = async (run: RunRef): Promise<NewestVersions> => (await versions.ofRecords(run)).newest;
  const rowsOf = async (runs: ComparedRuns, slice?: PairsQuery['slice']): Promise<ComparedRowsSql> => {
    const [baseline, other] = await Promise.all([newestOf(runs.baseline), newestOf(runs.other)]);
    return comparedRowsSql(runs, [baseline, other], slice);
  };

  /** Runs a statement of a comparison within its time limit. Its expressions are not compiled. */
  const ask = <T>(name: string, row: z.ZodType<T>, { params }: Binder, sql: string): Promise<T[]> =>
    clickhouse.query({ name, sql, params, row, maxSeconds: MAX_SECONDS, settings: asWritten });
  /** Reads figures without groups, which are one row. */
  const figures = async <T>(...read: Parameters<typeof ask<T>>): Promise<T> => (await ask(...read))[0] as T;

  return {
    async version(runs) {
      const binder = new Binder();
      const { inRun, scoresInRun } = scopeOfRuns(binder.bind, runs);
      const seen = (table: string, scope: string) =>
        `SELECT toString(run_id) AS run, toString(count()) AS rows, toString(max(version)) AS newest FROM ${table} WHERE ${scope} GROUP BY run_id`;
      const sql = `${seen('records', inRun)} UNION ALL ${seen('metric_values', scoresInRun)}`;
      const rows = await ask('versions of experiments', Version, binder, sql);
      return rows
        .map(({ run, rows: stored, newest }) => `${run} ${stored} ${newest}`)
        .sort()
        .join();
    },

    async outlines(runs) {
      const binder = new Binder();
      const scope = scopeOfRuns(binder.bind, runs, await Promise.all(runs.map(newestOf)));
      const found = await ask(
        'rows of experiments',
        Outline,
        binder,
        `SELECT toString(run_id) AS run, count() AS rows, countIf(${FAILED}) AS failed, countIf(isNotNull(dataset_row_id) AND isNotNull(dataset_version)) AS withDatasetRow,
                countIf(isNotNull(dataset_input)) AS withDatasetInput, uniqExact(ifNull(dataset_row_id, id)) AS keys
           FROM ${scope.from} WHERE ${scope.newest} AND type = 'trace' GROUP BY run_id`,
      );
      const byRun = new Map(found.map(({ run, ...outline }) => [run, outline]));
      return runs.map(({ runId }) => byRun.get(runId) ?? withoutRows);
    },

    async metrics(runs) {
      const binder = new Binder();
      const { scoresInRun } = scopeOfRuns(binder.bind, runs);
      const sql = `SELECT toString(run_id) AS run, groupUniqArray(metric) AS names FROM metric_values
        WHERE ${scoresInRun} AND record_type = 'trace' AND ${HAS_VALUE} GROUP BY run_id`;
      const byRun = new Map((await ask('metrics of rows', Metrics, binder, sql)).map(({ run, names }) => [run, names]));
      return runs.map(({ runId }) => byRun.get(runId) ?? []);
    },

    async rows(runs) {
      const rows = await rowsOf(runs);
      return figures(
        'rows of two experiments',
        Rows,
        rows.binder,
        `SELECT countIf(in_both AND NOT differs) AS matched, countIf(in_both AND differs) AS changed,
                countIf(NOT in_both AND in_baseline) AS onlyInBaseline, countIf(NOT in_both AND NOT in_baseline) AS onlyInOther
           FROM (SELECT key, max(side = 0) AS in_baseline, max(side = 1) AND in_baseline AS in_both, ${rows.isChanged} AS differs
                   FROM (${rows.keys}) GROUP BY key)`,
      );
    },

    async pairs(query) {
      const names = [...query.metrics, ...(query.withMeasured ? measuredMetrics : [])];
      const read = async <T>(
        name: string,
        row: z.ZodType<T>,
        sqlOf: (values: string) => string,
        metrics = query,
      ): Promise<T[]> => {
        const rows = await rowsOf(query, query.slice);
        return ask(name, row, rows.binder, sqlOf(valuesSql(rows, metrics, names)));
      };
      const found = await read('pairs of values', Paired, (values) =>
        pairsSql(values, query.slice !== undefined, query.hasTrials),
      );
      const isFew = ({ pairs, are_many, baseline, other }: z.output<typeof Paired>): boolean =>
        pairs > LIMIT_PAIRS && !are_many && !(isYesOrNo(baseline) && isYesOrNo(other) && !query.hasTrials);
      const counted = found.some(isFew)
        ? await read(
            'distinct differences',
            Distinct,
            distinctSql,
            withOnly(
              query,
              found.filter(isFew).map(({ m }) => names[m - 1] as string),
            ),
          )
        : [];
      const ofMetric = Map.groupBy(counted, ({ m, slice }) => `${m} ${slice}`);
      return found.map((row): PairedMetric => {
        const { m, slice, baseline, other, missing, pairs, below, above } = row;
        const distinct = ofMetric.get(`${m} ${slice}`);
        return {
          ...{ metric: names[m - 1] as string, slice, baseline, other, missing },
          moments: {
            pairs,
            mean: row.mean ?? Number.NaN,
            deviation: row.deviation ?? Number.NaN,
            squares: row.squares ?? 0,
            below,
            above,
          },
          differences:
            pairs <= LIMIT_PAIRS
              ? { values: row.differences }
              : distinct && {
                  values: distinct.map(({ difference }) => difference),
                  counts: distinct.map(({ counted: rows }) => rows),
                },
        };
      });
    },

    async page(query) {
      const rows = await rowsOf(query, query.slice?.column);
      const { rows: found, total } = await clickhouse.page({
        name: 'rows of a comparison',
        sql: rowPageSql(rows, query),
        params: rows.binder.params,
        row: RowOfPage,
        maxSeconds: MAX_SECONDS,
        settings: asWritten,
      });
      return { rows: found, total };
    },

    async labels(query) {
      const rows = await rowsOf(query, query.slice);
      const labels = `SELECT side, metric, key, slice, ${LABEL} AS label
           FROM (${rows.values(query.metrics)} AND (isNotNull(text) OR notEmpty(texts))) AS scored
           INNER JOIN (${keyed(rows, query.slice)}) AS traces USING (side, record_id)`;
      // A row with trials counts by its most frequent label; among equally frequent ones by the first in order.
      const mostFrequent = (index: SideIndex): string =>
        `(arraySort(found -> (-toInt64(found.2), found.1), arrayZip((sumMapIf([label], [toUInt64(1)], side = ${index}) AS counted_${index}).1, counted_${index}.2)) AS sorted_${index})[1].1`;
      const byRow = `SELECT metric, key, coalesce(anyIf(slice, side = 0), anyIf(slice, side = 1)) AS slice, ${mostFrequent(0)} AS baseline, ${mostFrequent(1)} AS other
          FROM (${labels}) WHERE NOT ${rows.isChanged} GROUP BY metric, key HAVING countIf(side = 0) > 0 AND countIf(side = 1) > 0`;
      return ask(
        'pairs of labels',
        Labels,
        rows.binder,
        `SELECT metric, slice, baseline, other, count() AS rows FROM (${byRow}) GROUP BY metric, slice, baseline, other
         ORDER BY metric, slice, rows DESC, baseline, other LIMIT ${MAX_LABEL_PAIRS + 1} BY metric, slice`,
      );
    },
  };
}

const withoutRows: RowOutline = { rows: 0, failed: 0, withDatasetRow: 0, withDatasetInput: 0, repeats: false };

/** Traces with what their values are grouped by. */
const keyed = (rows: ComparedRowsSql, slice: PairsQuery['slice']): string =>
  slice
    ? `SELECT side, record_id, key, slice FROM (${rows.traces})`
    : `SELECT side, record_id, key, CAST(NULL AS Nullable(String)) AS slice FROM (${rows.keys})`;

/** The types of a value, as bits of a number. The bits of the other side are four places higher. */
const kinds = { booleans: 1, numbers: 2, labels: 4, infinite: 8 } as const;

const LABEL = "if(notEmpty(texts), arrayStringConcat(arraySort(arrayDistinct(texts)), ', '), ifNull(text, ''))";
/** Another number for another label, below 2^52: a change of label is a difference. */
const LABEL_AS_NUMBER = `toFloat64(bitAnd(sipHash64(${LABEL}), 4503599627370495))`;

/**
 * Values of both sides, one row for each row of the experiments and each metric: `m` is the metric's index in `names`, `x` the baseline's value and `y`
 * the other's, NaN where there is none. Values of trials are averaged. A million groups take a second of CPU, a third of it for the states of the
 * aggregates, so there are few.
 */
function valuesSql(
  rows: ComparedRowsSql,
  { metrics, withMeasured, worst, slice }: PairsQuery,
  names: readonly string[],
  labelsAsNumbers = false,
): string {
  const { bind } = rows.binder;
  const indexOfMetric = (metric: string): string => `toUInt16(indexOf(${bind(names, 'Array(String)')}, ${metric}))`;
  const worstNames = bind([...worst.keys()], 'Array(String)');
  const scored = (): string =>
    `SELECT side, ${indexOfMetric('metric')} AS m, key, slice, ifNull(number, ${labelsAsNumbers ? LABEL_AS_NUMBER : 'nan'}) AS value,
        multiIf(isNull(number), ${kinds.labels}, NOT isFinite(number), ${kinds.infinite}, yes_or_no, ${kinds.booleans}, ${kinds.numbers}) AS kind
       FROM (${rows.values(metrics)}) AS scored INNER JOIN (${keyed(rows, slice)}) AS traces USING (side, record_id)`;
  const figures = measuredMetrics.map((name) => `('${name}', measured_${name})`);
  const measured = (): string =>
    `SELECT side, ${indexOfMetric('figure.1')} AS m, key, slice, assumeNotNull(figure.2) AS value, ${kinds.numbers} AS kind
       FROM (SELECT * FROM (${rows.measured}) AS measured INNER JOIN (${keyed(rows, slice)}) AS traces USING (side, record_id))
       ARRAY JOIN [${figures.join(', ')}] AS figure WHERE isNotNull(figure.2)`;
  const ofFailed = (): string =>
    `SELECT side, ${indexOfMetric('figure.1')} AS m, key, slice, figure.2 AS value, 0 AS kind
       FROM (${rows.traces}) ARRAY JOIN arrayZip(${worstNames}, ${bind([...worst.values()], 'Array(Float64)')}) AS figure
        WHERE failed AND (side, figure.1, record_id) NOT IN (SELECT side, metric, record_id FROM (${rows.values([...worst.keys()])} AND record_id IN (SELECT record_id FROM (${rows.traces}) WHERE failed)))`;
  const values = [
    ...(metrics.length > 0 ? [scored()] : []),
    ...(withMeasured ? [measured()] : []),
    ...(worst.size > 0 ? [ofFailed()] : []),
  ].join(' UNION ALL ');
  const sliced = slice ? 'coalesce(anyIf(slice, side = 0), anyIf(slice, side = 1))' : 'CAST(NULL AS Nullable(String))';
  return `SELECT m, key, of_slice AS slice, kinds, x, y, isFinite(x) AND isFinite(y) AS complete,
      if(complete AND abs(y - x) > 1e-12 * greatest(abs(x), abs(y)), y - x, 0) AS difference
    FROM (
      SELECT m, key, ${sliced} AS of_slice, groupBitOr(toUInt8(bitShiftLeft(kind, side * 4))) AS kinds,
             avgIf(value, side = 0 AND isFinite(value)) AS x, avgIf(value, side = 1 AND isFinite(value)) AS y
        FROM (${values}) WHERE NOT ${rows.isChanged} GROUP BY m, key
    )`;
}

/** One page of rows by the loss in a metric. */
function rowPageSql(rows: ComparedRowsSql, query: RowPageQuery): string {
  const { slice, ...ofAll } = query;
  const { metrics, conditions, sort, offset, limit } = query;
  const names = metrics.map(({ id }) => id);
  const measuredNames: readonly string[] = measuredMetrics;
  const values = valuesSql(
    rows,
    {
      ...ofAll,
      metrics: names.filter((name) => !measuredNames.includes(name)),
      withMeasured: names.some((name) => measuredNames.includes(name)),
    },
    names,
    true,
  );
  const indexOfMetric = (metric: string): number => names.indexOf(metric) + 1;
  const columns = metrics.flatMap(({ direction }, index) => {
    const of = (figure: string): string => `anyIf(${figure}, m = ${index + 1})`;
    const isLabel = `bitAnd(${of('kinds')}, ${kinds.labels | (kinds.labels << 4)}) > 0`;
    const isThere = `countIf(m = ${index + 1}) > 0`;
    const loss = direction === null ? of('abs(difference)') : of(direction === 'higher' ? '-difference' : 'difference');
    return [
      `${isThere} AND ${of('complete')} AS complete_${index + 1}`,
      `${isThere} AND NOT ${of('complete')} AS missing_${index + 1}`,
      `multiIf(NOT complete_${index + 1}, nan, ${isLabel}, toFloat64(${of('difference')} != 0), ${loss}) AS loss_${index + 1}`,
    ];
  });
  const isLike = (condition: RowCondition): string => {
    switch (condition.is) {
      case 'failed':
        return 'has_failed';
      case 'content_changed':
        return 'differs';
      case 'missing':
        return `(empty(baseline) OR empty(other) OR missing_${indexOfMetric(condition.metric)})`;
      default: {
        const sign = { better: '<', worse: '>', changed: '!=' }[condition.is];
        return `(complete_${indexOfMetric(condition.metric)} AND loss_${indexOfMetric(condition.metric)} ${sign} 0)`;
      }
    }
  };
  const conjuncts = [...conditions.map(isLike), ...(slice ? [`of_slice = ${rows.binder.bind(slice.value, 'String')}`] : [])];
  const where = conjuncts.length > 0 ? `WHERE ${conjuncts.join(' AND ')}` : '';
  const order = `isNaN(loss_${indexOfMetric(sort.metric)}), loss_${indexOfMetric(sort.metric)} ${sort.ascending ? 'ASC' : 'DESC'}, first_made, key`;
  return `SELECT baseline, other, differs FROM (
      SELECT key, arraySort(groupArrayIf((toString(created_at), toString(record_id)), side = 0)) AS baseline,
             arraySort(groupArrayIf((toString(created_at), toString(record_id)), side = 1)) AS other,
             max(failed) AS has_failed, min(created_at) AS first_made, ${rows.isChanged} AS differs,
             coalesce(anyIf(slice, side = 0), anyIf(slice, side = 1)) AS of_slice
        FROM (SELECT side, record_id, created_at, key, failed, slice FROM (${rows.traces})) GROUP BY key
    ) AS seen LEFT JOIN (SELECT key AS scored_key, ${columns.join(', ')} FROM (${values}) GROUP BY key) AS scored ON scored.scored_key = seen.key
    ${where} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`;
}

/** Beyond so many rows the distinct differences are counted apart, where they are few. Those of yes and no are known from the counts. */
function pairsSql(values: string, isSliced: boolean, hasTrials: boolean): string {
  const summed = (side: SideIndex, value: string): string => {
    const found = Object.values(kinds).map((bit) => `countIf(bitAnd(kinds, ${bit << (4 * side)}) > 0)`);
    return `tuple(${found.join(', ')}, avgOrNullIf(${value}, complete), quantilesExactInclusiveIf(0.5, 0.95)(${value}, complete))`;
  };
  const isYesOrNo = (side: string): string => `${side}.1 > 0 AND ${side}.2 = 0`;
  const areCounted = hasTrials ? 'false' : `(${isYesOrNo('baseline')} AND ${isYesOrNo('other')})`;
  const found = `SELECT m, slice, ${summed(0, 'x')} AS baseline, ${summed(1, 'y')} AS other, countIf(complete) AS pairs,
      avgOrNullIf(difference, complete) AS mean, stddevSampStableIf(difference, complete) AS deviation, sumOrNullIf(difference * difference, complete) AS squares,
      countIf(complete AND difference < 0) AS below, countIf(complete AND difference > 0) AS above, countIf(isFinite(x) != isFinite(y)) AS missing,
      groupArrayIf(${LIMIT_PAIRS + 1})(difference, complete) AS all_differences, length(groupUniqArrayIf(${MAX_DISTINCT + 1})(difference, complete)) AS distinct_differences
    FROM (${values}) GROUP BY m, slice`;
  // The statement around it saves time: within one statement the engine puts the whole expression in place of its name and plans it each time.
  return `SELECT * EXCEPT (all_differences, distinct_differences), if(pairs <= ${LIMIT_PAIRS} AND NOT ${areCounted}, all_differences, []) AS differences,
      distinct_differences > ${MAX_DISTINCT} AS are_many
    FROM (${found}) ORDER BY m, pairs DESC, slice ${isSliced ? `LIMIT ${MAX_SLICES} BY m` : ''}`;
}

/** The distinct differences of a metric, with their counts. */
const distinctSql = (values: string): string =>
  `SELECT m, slice, difference, count() AS counted FROM (${values}) WHERE complete GROUP BY m, slice, difference ORDER BY m, difference`;

/** The same question about some of its metrics. */
const withOnly = (query: PairsQuery, metrics: readonly string[]): PairsQuery => ({
  ...query,
  metrics: query.metrics.filter((metric) => metrics.includes(metric)),
  withMeasured: query.withMeasured && metrics.some((metric) => (measuredMetrics as readonly string[]).includes(metric)),
  worst: new Map([...query.worst].filter(([metric]) => metrics.includes(metric))),
});
