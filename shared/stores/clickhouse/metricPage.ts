import type { ColumnDef } from '../../columns/columnDef.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { Describe, RecordPageQuery } from '../../records/searchRecords.ts';
import type { ColumnFilter } from '../../wire/filters.ts';
import { Binder, IN_RUN, runParams } from './binder.ts';
import { HAS_VALUE, idOrder, metricValueColumn, ofKindsSql, scopeOf } from './columnSql.ts';
import { compileOverValues, isEmpty } from './compileFilter.ts';
import type { ClickHouse } from './connect.ts';
import { keyOfRow } from './keyRow.ts';
import { LastKnown } from './lastKnown.ts';
import { runKey } from './runState.ts';

export interface ReadPage<T> {
  described: T;
  /** Undefined where the records have to be counted after the page. */
  total?: number | undefined;
  /** The total is of the same moment as the page. */
  isOfPage?: boolean;
  /** Number of records on the page. */
  length: number;
}

/**
 * The page of a query that asks for one metric alone, as its filter, its order or both: the table of values has all that decides it, so no record
 * is read. Undefined for any other query, and for a page that reaches into the records without a value.
 * @param countAll the number of records that the query matches, where its filter is not about the metric.
 */
export async function metricPage<T>(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  writtenOnce: LastKnown<boolean>,
  countAll: () => Promise<number>,
  describe: Describe<T>,
): Promise<ReadPage<T> | undefined> {
  const metric = metricOf(query);
  if (!metric || query.after !== undefined) return undefined;
  const binder = new Binder();
  const scope = scopeOf(binder.bind, query.run);
  const { sort, filter, findColumn, kinds, offset, limit } = query;
  const value = sort && metricValueColumn(sort.column);
  const filtered = isEmpty(filter) ? undefined : compileOverValues(filter, metric, scope, findColumn);
  if (!isEmpty(filter) && filtered === undefined) return undefined;
  const conditions = [
    scope.scoresInRun,
    `metric = ${binder.bind(metric, 'String')}`,
    HAS_VALUE,
    filtered,
    value && `isNotNull(${value})`,
  ];
  const ofMetric = conditions.filter((condition) => condition !== undefined).join(' AND ');
  const where = `${ofMetric}${ofKindsSql(binder.bind, kinds, 'record_type')}`;
  const tail = `record_created_at DESC, ${idOrder('record_id')} DESC`;
  const order = value ? `${value} ${sort.ascending ? 'ASC' : 'DESC'}, ${tail}` : tail;
  const read = (isWrittenOnce: boolean) => {
    const rows = `FROM ${isWrittenOnce ? 'metric_values' : 'metric_values FINAL'} WHERE ${where}`;
    const page = async () => {
      const keys = await clickhouse.query({
        name: 'page by a metric',
        sql: `SELECT record_id AS id, record_created_at AS created_at, record_type AS type, trace_id ${rows} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
        params: binder.params,
        row: keyOfRow,
      });
      // Only the last page of values can be one that goes on in the records without a value.
      const isCertain = filtered !== undefined || keys.length === limit;
      return { keys, described: isCertain ? await describe({ keys }) : undefined };
    };
    const counted = clickhouse.query({
      name: 'count by a metric',
      sql: `SELECT count() AS total ${rows}`,
      params: binder.params,
      row: (row) => Number((row as { total: string }).total),
    });
    return Promise.all([page(), counted]);
  };
  const asked = writtenOnce.asked(`${runKey(query.run)} ${metric}`, () => isWrittenOnce(clickhouse, query.run, metric));
  const [[{ keys, described }, [withValue = 0]], all] = await Promise.all([
    asked.read(read),
    filtered === undefined ? countAll() : undefined,
  ]);
  const total = all ?? withValue;
  if (offset + limit > withValue && withValue !== total) return undefined;
  return { described: described ?? (await describe({ keys })), total, length: keys.length };
}

/** Whether the values of each metric of a run were {@link isWrittenOnce} when they were last read. */
export const lastWrittenOnce = (clickhouse: ClickHouse): LastKnown<boolean> =>
  new LastKnown(true, (one, other) => one === other, clickhouse);

/** Whether every value of the metric came with its record and stayed as it was: then nothing has to be merged to find the newest. */
async function isWrittenOnce(clickhouse: ClickHouse, run: RunRef, metric: string): Promise<boolean> {
  const rewritten = await clickhouse.query({
    name: 'rewritten values',
    sql: `SELECT 1 FROM metric_values WHERE ${IN_RUN} AND metric = {metric:String} AND is_rewrite LIMIT 1`,
    params: { ...runParams(run), metric },
    row: (row) => row,
  });
  return rewritten.length === 0;
}

/** The metric that a query sorts by, or else that a leaf of its filter names. */
function metricOf({ sort, filter, findColumn }: RecordPageQuery): string | undefined {
  if (sort) return nameOf(sort.column);
  const leaf = firstLeaf(filter);
  return leaf && nameOf(findColumn(leaf));
}

const nameOf = ({ source, dataType }: ColumnDef): string | undefined =>
  source.at === 'metric' && dataType !== 'string_list' ? source.metric : undefined;

function firstLeaf(filter: ColumnFilter): string | undefined {
  if ('filter' in filter) return filter.filter.column_id;
  if ('not' in filter) return undefined;
  for (const inner of 'and' in filter ? filter.and : filter.or) {
    const leaf = firstLeaf(inner);
    if (leaf !== undefined) return leaf;
  }
  return undefined;
}
