import type { ColumnDef } from '../../../columns/columnDef.ts';
import { begun } from '../../../concurrency/begun.ts';
import type { RecordPageQuery, RecordQuery } from '../../../records/searchRecords.ts';
import type { ColumnFilter } from '../../../wire/filters.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { HAS_VALUE, IN_ORDER, idOrder, metricValueColumn, ofKindsSql, scopeOf } from '../filters/columnSql.ts';
import { compileOverValues, isEmpty } from '../filters/compileFilter.ts';
import { keyOfRow } from '../tables/keyRow.ts';
import type { CheckedPage } from './recordPages.ts';

/**
 * The page of a query that asks for one metric alone, as its filter, its order or both: the table of values has all that decides it, so no record
 * is read. Undefined for any other query, and for a page that reaches into the records without a value.
 * @param isWrittenOnce whether every value of the metric came with its record and stayed as it was: then nothing is merged to find the newest
 * @param count the number of records that a query matches
 */
export async function metricPage(
  clickhouse: ClickHouse,
  query: RecordPageQuery,
  isWrittenOnce: (metric: string) => Promise<boolean>,
  count: (query: RecordQuery) => Promise<number>,
): Promise<CheckedPage | undefined> {
  const metric = metricOf(query);
  if (!metric || query.after !== undefined) return undefined;
  const binder = new Binder();
  const { run, sort, filter, findColumn, kinds, offset, limit } = query;
  const scope = scopeOf(binder.bind, run);
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
  const isAsWritten = await isWrittenOnce(metric);
  const rows = `FROM ${isAsWritten ? 'metric_values' : 'metric_values FINAL'} WHERE ${where}`;
  const reading = clickhouse.query({
    name: 'page by a metric',
    sql: `SELECT record_id AS id, record_created_at AS created_at, record_type AS type, trace_id ${rows} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
    params: binder.params,
    row: keyOfRow,
    settings: IN_ORDER,
  });
  const countingValues = begun(
    clickhouse.query({
      name: 'count by a metric',
      sql: `SELECT count() AS total ${rows}`,
      params: binder.params,
      row: (row) => Number((row as { total: string }).total),
    }),
  );
  const withValue = async () => (await countingValues)[0] ?? 0;
  const counting = filtered === undefined ? begun(count(query)) : begun(withValue());
  const keys = await reading;
  const { length } = keys;
  // Only the last page of values can be one that goes on in the records without a value.
  if (length < limit && (await withValue()) !== (await counting)) return undefined;
  const isCurrent = !isAsWritten || (await isWrittenOnce(metric));
  // As of a page of records: others may have come between the count and a full page that seems to be the last.
  const certain = async (total: number) => (length < limit || offset + length < total ? total : count(query));
  return { keys, total: begun(counting.then(certain)), isCurrent };
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
