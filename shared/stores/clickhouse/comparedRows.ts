import type { ColumnDef } from '../../columns/columnDef.ts';
import type { ComparedRuns } from '../../comparison/comparisonReads.ts';
import { measuredMetrics } from '../../experiments/aggregates.ts';
import type { RunRef } from '../../projects/runs.ts';
import { type Bind, Binder } from './binder.ts';
import { columnSql, HAS_VALUE, scopeOf } from './columnSql.ts';
import type { NewestVersions } from './newestVersions.ts';

/** Side 0 is the baseline. */
export type SideIndex = 0 | 1;

/** Parts of a statement over the rows of two experiments. A row has the same `key` on both sides: 64 bits of a hash. */
export interface ComparedRowsSql {
  binder: Binder;
  /** Traces of one side: side, record_id, created_at, key, failed, slice, and what is measured. */
  traces(side: SideIndex): string;
  /** Whether the content of a key's row differs between the versions of the dataset. */
  isChanged: string;
  /** Metric values of one side that are values. */
  values(side: SideIndex, metrics: readonly string[]): string;
}

export function comparedRows(
  runs: ComparedRuns,
  newest: readonly [NewestVersions, NewestVersions],
  slice?: ColumnDef,
): ComparedRowsSql {
  const binder = new Binder();
  const { bind } = binder;
  const run = (side: SideIndex): RunRef => (side === 0 ? runs.baseline : runs.other);
  return {
    binder,
    isChanged: runs.versions ? `key IN (${changedRows(bind, runs.versions)})` : 'false',
    traces(side) {
      const scope = scopeOf(bind, run(side), newest[side]);
      const sliced = slice ? `toString(${columnSql(slice, scope).value})` : 'CAST(NULL AS Nullable(String))';
      const figures = measuredMetrics.map((name) => `toNullable(toFloat64(${name})) AS measured_${name}`);
      const columns = [`${side} AS side`, 'id AS record_id', 'created_at', "error_message != '' AS failed", `${sliced} AS slice`];
      const select = [...columns, ...figures].join(', ');
      const rows = `${scope.from} WHERE ${scope.newest} AND type = 'trace'`;
      if (runs.matchedBy === 'dataset_row' && runs.allHaveRowIds) return `SELECT ${select}, ${ROW_KEY} AS key FROM ${rows}`;
      // The window stands in a statement of its own: the other columns need not be sorted with it.
      return `SELECT * FROM (SELECT ${select} FROM ${rows}) AS seen INNER JOIN (${keysByText(rows, runs)}) AS keyed ON keyed.keyed_id = seen.record_id`;
    },
    values(side, metrics) {
      const { scoresInRun } = scopeOf(bind, run(side));
      return `SELECT record_id, toString(metric) AS metric, number, value IN ('true', 'false') AS yes_or_no, text, texts FROM metric_values FINAL
        WHERE ${scoresInRun} AND metric IN ${bind(metrics, 'Array(String)')} AND record_type = 'trace' AND ${HAS_VALUE}`;
    },
  };
}

const HAS_ROW = '(isNotNull(dataset_row_id) AND isNotNull(dataset_version))';
const rowKey = (id: string): string => `sipHash64(${id})`;
const ROW_KEY = rowKey('assumeNotNull(dataset_row_id)');
/** Order of rows with the same text. Trials of one row are one occurrence. */
const OCCURRENCE =
  "ifNull(dataset_row_ordinal, 4294967295), if(isNull(dataset_row_id), created_at, toDateTime64(0, 6, 'UTC')), toUInt128(ifNull(dataset_row_id, id))";

function keysByText(rows: string, { matchedBy }: Pick<ComparedRuns, 'matchedBy'>): string {
  const text = matchedBy === 'input' ? 'input' : 'ifNull(dataset_input, input)';
  const occurrence = `dense_rank() OVER (PARTITION BY matched ORDER BY ${OCCURRENCE})`;
  const byText = `sipHash64(matched, ${occurrence})`;
  const key = matchedBy === 'dataset_row' ? `if(${HAS_ROW}, ${ROW_KEY}, ${byText})` : byText;
  return `SELECT id AS keyed_id, ${key} AS key
    FROM (SELECT id, created_at, dataset_row_id, dataset_version, dataset_row_ordinal, sipHash128(${text}) AS matched FROM ${rows})`;
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
