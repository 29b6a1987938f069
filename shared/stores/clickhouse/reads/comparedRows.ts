import type { ColumnDef } from '../../../columns/columnDef.ts';
import { usageMetrics } from '../../../columns/systemMetrics.ts';
import type { ComparedRuns } from '../../../comparison/comparisonReads.ts';
import { measuredMetrics } from '../../../experiments/aggregates.ts';
import { FAILED } from '../../../records/failed.ts';
import { type Bind, Binder } from '../binder.ts';
import { columnSql, HAS_VALUE, scopeOfRuns } from '../filters/columnSql.ts';
import type { NewestVersions } from '../tables/newestVersions.ts';
import { tracesOfRunsSql } from '../tables/usageSql.ts';

/** Metrics that are summed over spans: runs of the service and functions of the caller log tokens and costs on spans alone. */
const summed = usageMetrics.filter((name) => (measuredMetrics as readonly string[]).includes(name));

/** Side 0 is the baseline. */
export type SideIndex = 0 | 1;

/**
 * Parts of a statement over the rows of two experiments. Both are read at once, since planning a statement takes as long as reading 5,000 rows. A row
 * has the same `key` on both sides: 64 bits of a hash.
 */
export interface ComparedRowsSql {
  binder: Binder;
  /** Traces of both sides: side, record_id, key. */
  keys: string;
  /** The same with created_at, failed and slice. */
  traces: string;
  /** Measured values of the traces of both sides, sums over their spans included: side, record_id, and a column for each. */
  measured: string;
  /** True when the content of a key's row differs between the versions of the dataset. */
  isChanged: string;
  /** Metric values of both sides that are values: side, record_id, metric, and the value. */
  values(metrics: readonly string[]): string;
}

export function comparedRowsSql(
  runs: ComparedRuns,
  newest: readonly [NewestVersions, NewestVersions],
  slice?: ColumnDef,
): ComparedRowsSql {
  const binder = new Binder();
  const { bind } = binder;
  const scope = scopeOfRuns(bind, [runs.baseline, runs.other], newest);
  const sideOf = (run: string): string => `toUInt8(${run} = ${bind(runs.other.runId, 'UUID')}) AS side`;
  const side = sideOf('run_id');
  const rows = `${scope.from} WHERE ${scope.newest} AND type = 'trace'`;
  const areKeyedById = runs.matchedBy === 'dataset_row' && runs.allHaveRowIds;
  const keys = areKeyedById ? `SELECT ${side}, id AS record_id, ${ROW_KEY} AS key FROM ${rows}` : keysByText(side, rows, runs);
  const sliced = slice ? `toString(${columnSql(slice, scope).value})` : 'CAST(NULL AS Nullable(String))';
  const columns = `created_at, ${FAILED} AS failed, ${sliced} AS slice`;
  const figures = measuredMetrics.map((name) => `toNullable(toFloat64(${name})) AS measured_${name}`).join(', ');
  return {
    binder,
    keys,
    // The window of the keys stands in a statement of its own: the other columns need not be sorted with it.
    traces: areKeyedById
      ? `SELECT ${side}, id AS record_id, ${ROW_KEY} AS key, ${columns} FROM ${rows}`
      : `SELECT * FROM (SELECT ${side}, id AS record_id, ${columns} FROM ${rows}) AS seen INNER JOIN (${keys}) AS keyed USING (side, record_id)`,
    measured: `SELECT ${sideOf('run')}, trace AS record_id, ${figures} FROM (${tracesOfRunsSql(summed, { from: scope.from, where: scope.newest })})`,
    isChanged: runs.versions ? `key IN (${changedRows(bind, runs.versions)})` : 'false',
    values: (metrics) =>
      `SELECT ${side}, record_id, metric, number, value IN ('true', 'false') AS yes_or_no, text, texts FROM metric_values FINAL
        WHERE ${scope.scoresInRun} AND metric IN ${bind(metrics, 'Array(String)')} AND record_type = 'trace' AND ${HAS_VALUE}`,
  };
}

const HAS_ROW = '(isNotNull(dataset_row_id) AND isNotNull(dataset_version))';
const rowKey = (id: string): string => `sipHash64(${id})`;
const ROW_KEY = rowKey('assumeNotNull(dataset_row_id)');
/** Order of rows with the same text. Trials of one row are one occurrence. */
const OCCURRENCE =
  "ifNull(dataset_row_ordinal, 4294967295), if(isNull(dataset_row_id), created_at, toDateTime64(0, 6, 'UTC')), toUInt128(ifNull(dataset_row_id, id))";

function keysByText(side: string, rows: string, { matchedBy }: Pick<ComparedRuns, 'matchedBy'>): string {
  const text = matchedBy === 'input' ? 'input' : 'ifNull(dataset_input, input)';
  const occurrence = `dense_rank() OVER (PARTITION BY side, matched ORDER BY ${OCCURRENCE})`;
  const byText = `sipHash64(matched, ${occurrence})`;
  const key = matchedBy === 'dataset_row' ? `if(${HAS_ROW}, ${ROW_KEY}, ${byText})` : byText;
  return `SELECT side, id AS record_id, ${key} AS key
    FROM (SELECT ${side}, id, created_at, dataset_row_id, dataset_version, dataset_row_ordinal, sipHash128(${text}) AS matched FROM ${rows})`;
}

/** Keys of the rows whose content differs between two versions. A row that is edited is stored anew; of edits that were taken back nothing is left. */
function changedRows(bind: Bind, { datasetId, earlier, later }: NonNullable<ComparedRuns['versions']>): string {
  const [first, last] = [bind(earlier, 'UInt32'), bind(later, 'UInt32')];
  const stored = `owner_id = ${bind(datasetId, 'UUID')} AND updated_in_version <= ${last}`;
  const edit = '(updated_in_version, row_key)';
  return `SELECT ${rowKey('row_id')} FROM dataset_rows
    WHERE ${stored} AND row_id IN (SELECT row_id FROM dataset_rows WHERE ${stored} AND updated_in_version > ${first})
    GROUP BY row_id HAVING countIf(updated_in_version <= ${first}) > 0 AND argMaxIf(cells, ${edit}, updated_in_version <= ${first}) != argMax(cells, ${edit})`;
}
