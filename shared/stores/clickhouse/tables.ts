import type { StoredColumn } from '../../columns/columnDef.ts';
import { recordTableColumns } from '../../columns/recordTableColumns.ts';
import type { ClickHouse } from './connect.ts';

export interface Table {
  name: string;
  columns: readonly StoredColumn[];
  indexes: readonly { name: string; expression: string; type: string; granularity: number }[];
  orderBy: readonly string[];
  /** Column that decides between rows with equal keys: the highest one counts. */
  version: string;
  settings: Record<string, number>;
}

/**
 * Parts of like size that are merged at a time. With the default of 5 each record of a steady ingest is merged twice as often, and merging computes
 * the text indexes anew (190 µs of CPU a record, against 150 with 10); the price is some more parts at a time.
 */
const MERGE_PARTS = 10;

/**
 * Every record of all eight kinds. `created_at` is in the key only for speed: it is settled once per id (see `recordKeys`) and never changes.
 * Reads by page touch narrow columns of many rows, then wide columns of few: small granules keep the second step cheap (50 scattered records:
 * 29 MB read with 512 rows a granule, 16 MB with 256).
 */
export const records: Table = {
  name: 'records',
  columns: recordTableColumns,
  indexes: [
    // A rare word in 1 M inputs of 1.2 KB: 600 ms without, 130 ms with it, 14 MB on disk. Trigrams in a text index gave 100 ms, at 790 MB.
    // 8 KiB a granule, about as many trigrams as 256 such texts hold.
    ...['input', "ifNull(output, '')"].map((expression, position) => ({
      name: `text_${position}`,
      expression,
      type: 'ngrambf_v1(3, 8192, 2, 0)',
      granularity: 1,
    })),
    ...['id', 'trace_id', 'parent_id', 'session_id', 'external_id'].map((column) => ({
      name: `by_${column}`,
      expression: column,
      type: 'bloom_filter(0.01)',
      granularity: 1,
    })),
  ],
  orderBy: ['project_id', 'run_id', 'created_at', 'id'],
  version: 'version',
  settings: { index_granularity: 256, merge_selector_base: MERGE_PARTS },
};

/** Where a record is: its settled `created_at`, and what a look-up by id, a parent check or a tree read needs. Written before the record. */
export const recordKeys: Table = {
  name: 'record_keys',
  columns: [
    { name: 'project_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'run_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'id', sqlType: 'UUID' },
    { name: 'created_at', sqlType: "DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))" },
    { name: 'type', sqlType: 'LowCardinality(String)' },
    { name: 'trace_id', sqlType: 'Nullable(UUID)' },
    { name: 'parent_id', sqlType: 'Nullable(UUID)' },
    { name: 'session_id', sqlType: 'UUID' },
    { name: 'version', sqlType: 'UInt64' },
  ],
  // Who gathers a trace or session looks for a few ids, and the writer for hundreds at once, mostly in vain, among all keys of the run. 4,096 rows
  // a granule: in 1 M keys 6 ms for one trace and 9 ms for 200, against 15 and 17 without (256 rows a granule: 7 and 25).
  indexes: ['trace_id', 'session_id'].map((column) => ({
    name: `by_${column}`,
    expression: column,
    type: 'bloom_filter(0.001)',
    granularity: 16,
  })),
  orderBy: ['project_id', 'run_id', 'id'],
  version: 'version',
  settings: { index_granularity: 256, merge_selector_base: MERGE_PARTS },
};

/**
 * One value of one metric of one record, with the state of its scoring. Scoring never rewrites a record; a newer value has a higher version.
 * `number` holds numbers, and booleans as 0 and 1; `text` holds texts and categories, `texts` lists of them; `value` the whole value as JSON text.
 */
export const metricValues: Table = {
  name: 'metric_values',
  columns: [
    { name: 'project_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'run_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'metric', sqlType: 'LowCardinality(String)' },
    { name: 'record_created_at', sqlType: "DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))" },
    { name: 'record_id', sqlType: 'UUID' },
    { name: 'record_type', sqlType: 'LowCardinality(String)' },
    { name: 'trace_id', sqlType: 'Nullable(UUID)' },
    // A status_type of the interface: success, failed, error, not_applicable, pending, computing, not_computed, roll_up.
    { name: 'status', sqlType: 'LowCardinality(String)' },
    { name: 'number', sqlType: 'Nullable(Float64)' },
    { name: 'text', sqlType: 'Nullable(String)' },
    // Values of a metric that gives several labels.
    { name: 'texts', sqlType: 'Array(String)' },
    { name: 'value', sqlType: 'String CODEC(ZSTD(1))' },
    { name: 'explanation', sqlType: 'Nullable(String) CODEC(ZSTD(1))' },
    // The scorer's own metadata as JSON text, or empty; sent only when it is asked for.
    { name: 'metadata', sqlType: 'String CODEC(ZSTD(1))' },
    // The other keys of the metric result (cost, tokens, model_alias, message, standard_error …) as JSON text of an object, or empty.
    { name: 'details', sqlType: 'String CODEC(ZSTD(1))' },
    { name: 'scorer_id', sqlType: 'Nullable(UUID)' },
    { name: 'computed_at', sqlType: "DateTime64(6, 'UTC')" },
    { name: 'version', sqlType: 'UInt64' },
  ],
  indexes: [{ name: 'by_record', expression: 'record_id', type: 'bloom_filter(0.01)', granularity: 1 }],
  orderBy: ['project_id', 'run_id', 'metric', 'record_created_at', 'record_id'],
  version: 'version',
  settings: { index_granularity: 1024 },
};

export const tables: readonly Table[] = [records, recordKeys, metricValues];

/**
 * Creates what is missing and adds the columns and indexes that the registry gained. Never drops or changes anything, and every statement says
 * IF NOT EXISTS, so several processes may do it at once. An index added later serves the data written after it.
 */
export async function migrateTables(clickhouse: ClickHouse): Promise<void> {
  for (const table of tables) {
    await clickhouse.command({ name: `create ${table.name}`, sql: createTable(table) });
    const existing = await clickhouse.query({
      name: `columns of ${table.name}`,
      sql: 'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
      params: { table: table.name },
      row: (row) => (row as { name: string }).name,
    });
    const added = table.columns.filter(({ name }) => !existing.includes(name));
    const changes = [
      ...added.map(({ name, sqlType }) => `ADD COLUMN IF NOT EXISTS ${name} ${sqlType}`),
      ...table.indexes.map((index) => `ADD INDEX IF NOT EXISTS ${indexSql(index)}`),
    ];
    for (const change of changes) {
      await clickhouse.command({ name: `alter ${table.name}`, sql: `ALTER TABLE ${table.name} ${change}` });
    }
  }
}

function createTable({ name, columns, indexes, orderBy, version, settings }: Table): string {
  const parts = [
    ...columns.map((column) => `${column.name} ${column.sqlType}`),
    ...indexes.map((index) => `INDEX ${indexSql(index)}`),
  ];
  // Blocks of the last inserts are remembered, so that a retry of one that was stored is stored once.
  const all = { non_replicated_deduplication_window: 1000, ...settings };
  return `CREATE TABLE IF NOT EXISTS ${name} (${parts.join(', ')}) ENGINE = ReplacingMergeTree(${version}) ORDER BY (${orderBy.join(', ')}) SETTINGS ${Object.entries(
    all,
  )
    .map(([setting, value]) => `${setting} = ${value}`)
    .join(', ')}`;
}

const indexSql = ({ name, expression, type, granularity }: Table['indexes'][number]): string =>
  `${name} ${expression} TYPE ${type} GRANULARITY ${granularity}`;
