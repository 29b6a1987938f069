import type { ColumnDef } from '../../../columns/columnDef.ts';
import type { ColumnValueReads } from '../../../records/columnValues.ts';
import type { RecordQuery } from '../../../records/searchRecords.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { columnSql, HAS_VALUE, IN_ORDER, metricValueColumn, type Scope, scopeOf } from '../filters/columnSql.ts';
import { matchingSql } from './recordPages.ts';
import { RunVersions } from './runVersions.ts';

/** Longer values are left out: they are no choice in a list. */
const MAX_CHARACTERS = 1_000;

/** Values of columns among the newest records, which the order of the table gives. */
export function clickhouseColumnValues(clickhouse: ClickHouse): ColumnValueReads {
  const versions = new RunVersions(clickhouse);
  const begin = async ({ run, kinds }: RecordQuery) => {
    const { newest } = await versions.ofRecords(run);
    const { bind, params } = new Binder();
    return { scope: { ...scopeOf(bind, run, newest), kinds }, params };
  };
  return {
    async values(query, column, { records, limit, contains }) {
      const { scope, params } = await begin(query);
      const { bind } = scope;
      const fits = contains === undefined ? '' : ` AND positionCaseInsensitiveUTF8(value, ${bind(contains, 'String')}) > 0`;
      const rows = await clickhouse.query({
        name: 'values of a column',
        sql: `SELECT value, count() AS count FROM (${valuesSql(query, column, scope, records)})
              WHERE isNull(value) OR (lengthUTF8(value) <= ${MAX_CHARACTERS}${fits})
              GROUP BY value ORDER BY isNull(value) DESC, count DESC, value LIMIT ${limit + 1}`,
        params,
        settings: IN_ORDER,
        row: (row) => toCounted(row as Row),
      });
      const values = rows.filter((row) => row.value !== null).slice(0, limit) as { value: string; count: number }[];
      return { values, without: rows.find(({ value }) => value === null)?.count ?? 0 };
    },

    async metadataKeys(query, { records, limit }) {
      const { scope, params } = await begin(query);
      const ids = ['user_metadata', 'dataset_metadata'].map((map) => `arrayMap(key -> concat('${map}/', key), mapKeys(${map}))`);
      return clickhouse.query({
        name: 'metadata keys',
        sql: `SELECT value, count() AS count FROM (SELECT arrayJoin(ids) AS value FROM (${newestSql(query, scope, `arrayConcat(${ids.join()}) AS ids`, records)}))
              GROUP BY value ORDER BY count DESC, value LIMIT ${limit}`,
        params,
        settings: IN_ORDER,
        row: (row) => toCounted(row as Row) as { value: string; count: number },
      });
    },
  };
}

interface Row {
  value: string | null;
  count: string;
}

const toCounted = ({ value, count }: Row) => ({ value, count: Number(count) });

const newestSql = (query: RecordQuery, scope: Scope, selected: string, records: number): string =>
  `SELECT ${selected} FROM ${scope.from} WHERE ${matchingSql(query, scope)} ORDER BY created_at DESC LIMIT ${records}`;

/** `value` of each record as text, NULL where it has none or an empty one; one row for each of several. */
function valuesSql(query: RecordQuery, column: ColumnDef, scope: Scope, records: number): string {
  const { source, dataType } = column;
  if (source.at !== 'metric')
    return textsOf(dataType, newestSql(query, scope, `${columnSql(column, scope).value} AS found`, records));
  const scores = `SELECT record_id, ${metricValueColumn(column)} AS found FROM metric_values FINAL WHERE ${scope.scoresInRun} AND metric = ${scope.bind(source.metric, 'String')} AND ${HAS_VALUE}`;
  const newest = newestSql(query, scope, 'id', records);
  return textsOf(
    dataType,
    `SELECT found FROM (${newest}) AS newest LEFT ANY JOIN (${scores}) AS scores ON newest.id = scores.record_id`,
  );
}

const textsOf = (dataType: ColumnDef['dataType'], found: string): string =>
  dataType === 'string_list'
    ? `SELECT arrayJoin(if(empty(found), [CAST(NULL AS Nullable(String))], CAST(arrayDistinct(found) AS Array(Nullable(String))))) AS value FROM (${found})`
    : `SELECT nullIf(CAST(found AS Nullable(String)), '') AS value FROM (${found})`;
