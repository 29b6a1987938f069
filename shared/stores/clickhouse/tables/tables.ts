import type { StoredColumn } from '../../../columns/columnDef.ts';
import { recordTableColumns } from '../../../columns/recordTableColumns.ts';
import { PENDING } from '../../../records/recordStore.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { shortColumnsCache } from './shortColumnsCache.ts';

export interface Table {
  name: string;
  columns: readonly StoredColumn[];
  /** A late one is not built when rows are inserted (see `lateIndexes`). */
  indexes: readonly { name: string; expression: string; type: string; granularity: number; isLate?: boolean }[];
  /** Kept by the engine with every part; a statement that they serve is read from them. */
  projections: readonly { name: string; query: string; forServers?: boolean }[];
  orderBy: readonly string[];
  /** Column that decides between rows with equal keys: the highest one counts. */
  version: string;
  settings: Record<string, number | string>;
}

/** Names of the indexes that new rows get at their first merge. */
export const lateIndexes = ({ indexes }: Table): string[] => indexes.filter(({ isLate }) => isLate).map(({ name }) => name);

/**
 * Parts of like size that are merged at a time. With the default of 5 each record of a steady ingest is merged twice as often; the price is some
 * more parts at a time.
 */
const MERGE_PARTS = 10;

/** Projections stay exact when versions are merged away and when rows are deleted. */
const KEEP_PROJECTIONS = { deduplicate_merge_projection_mode: "'rebuild'", lightweight_mutation_projection_mode: "'rebuild'" };

/**
 * Merges of so many rows go column by column: a record with its sixty columns takes 25 µs of CPU a merge instead of 31. The engine's own limit is
 * 131,072 rows; of a hundred rows a merge takes longer so (23 ms instead of 20), of two thousand as long.
 */
const MERGE_BY_COLUMN = { vertical_merge_algorithm_min_rows_to_activate: 4_096 };

/**
 * A part of records consists of 311 files when each column has its own, and of 40 when it is compact; on ext4 a new file costs up to 1 ms where many
 * were deleted lately, as merges do. So what is inserted is compact (groups of 8 MB became up to 14, above the engine's own limit of 10): 27 µs of CPU
 * a record instead of 31. Small skip indexes share one file.
 */
const FEW_FILES = { min_bytes_for_wide_part: 33_554_432, packed_skip_index_max_bytes: 1_048_576 };

/**
 * A page shows values from all over a metric, ten metrics of fifty records each from a place of its own: 500 places of 4 M values take 48 ms of CPU
 * with blocks of this size, 99 ms with the default of 64 KB, 44 ms with 4 KB; the values take 4 % more room, and 20 % more CPU to merge.
 */
const SMALL_BLOCKS = { min_compress_block_size: 4096, max_compress_block_size: 16_384 };

/**
 * Seconds for which the engine keeps the parts that a merge has replaced, and how many broken parts it may find at its start. A part is not synced when it
 * is written, so a power cut can take the result of a merge, and it must not have taken what was merged before. chDB 3.4.0 removes these at once by
 * default. The system writes everything within 35 s. A part that a power cut broke is set aside, and the table opens all the same.
 */
export const SAFE_MERGES = { old_parts_lifetime: 60, max_suspicious_broken_parts: 10_000 };

/** False where the writer knows that this row is the first of its key. Rows from before the column, and of writers that do not know, are not. */
const isRewrite: StoredColumn = { name: 'is_rewrite', sqlType: 'Bool DEFAULT true' };
const rewrites = { name: 'rewrites', expression: 'is_rewrite', type: 'minmax', granularity: 16 };

/**
 * Every record of all eight kinds. `created_at` is in the key only for speed: it is settled once per id (see `recordKeys`) and never changes.
 * Reads by page touch narrow columns of many rows, then wide columns of few: small granules keep the second step cheap (50 scattered records:
 * 29 MB read with 512 rows a granule, 16 MB with 256).
 */
export const records: Table = {
  name: 'records',
  columns: [...recordTableColumns, shortColumnsCache, isRewrite],
  indexes: [
    // Words to rows. A part of a text is looked for in the list of words, and the rows come from the index alone: the texts stay unread
    // (docs/decisions/text-index.md has the figures of what else was tried). Built at the first merge: 13 µs of CPU a record less than at the insertion and at
    // each merge, and the texts of the few parts that are not merged yet are scanned.
    ...['input', "ifNull(output, '')"].map((expression, position) => ({
      name: `words_${position}`,
      expression,
      type: "text(tokenizer = 'splitByNonAlpha')",
      granularity: 100_000_000,
      isLate: true,
    })),
    ...['session_id', 'external_id'].map((column) => ({
      name: `by_${column}`,
      expression: column,
      type: 'bloom_filter(0.01)',
      granularity: 1,
    })),
    rewrites,
    { name: 'incomplete', expression: 'trace_is_complete', type: 'minmax', granularity: 16 },
  ],
  // The size of a run, and of its kinds, and whether it was rewritten, without reading a row of it. The embedded engine is asked that once a run: there it
  // would make every insert dearer, of eight rows 39 ms instead of 30 on a busy machine.
  projections: [
    {
      forServers: true,
      name: 'kinds_and_rewrites',
      query: 'SELECT project_id, run_id, type, count(), countIf(is_rewrite) GROUP BY project_id, run_id, type',
    },
  ],
  orderBy: ['project_id', 'run_id', 'created_at', 'id'],
  version: 'version',
  settings: {
    index_granularity: 256,
    merge_selector_base: MERGE_PARTS,
    ...MERGE_BY_COLUMN,
    ...KEEP_PROJECTIONS,
    ...FEW_FILES,
    ...SAFE_MERGES,
  },
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
  // To gather a session, a read looks for a few ids among all keys of the run. With 4,096 rows a granule this takes 6 ms of 1 M keys,
  // against 15 without the index (256 rows: 7).
  indexes: [{ name: 'by_session_id', expression: 'session_id', type: 'bloom_filter(0.001)', granularity: 16 }],
  projections: [],
  orderBy: ['project_id', 'run_id', 'id'],
  version: 'version',
  settings: { index_granularity: 256, merge_selector_base: MERGE_PARTS, ...FEW_FILES, ...SAFE_MERGES },
};

/**
 * The same keys in the order of their traces: what a trace consists of, what hangs below a span and what its model calls used is read from a few
 * neighbouring rows however large the run. A record that was moved to another trace has left a row behind in the old one, so the newest row of an id counts.
 */
export const traceMembers: Table = {
  ...recordKeys,
  name: 'trace_members',
  columns: [
    ...recordKeys.columns.map((column) => (column.name === 'trace_id' ? { ...column, sqlType: 'UUID' } : column)),
    // The usage of a span, by the names of `usageMetrics`. It is empty of those that say nothing, and of what former releases stored.
    { name: 'usage', sqlType: 'Map(LowCardinality(String), Float64)' },
    { name: 'counted_usage', sqlType: 'LowCardinality(Nullable(String))' },
  ],
  indexes: [],
  orderBy: ['project_id', 'run_id', 'trace_id', 'id'],
};

/** The type of a row of `trace_members` whose record has left that trace. */
export const LEFT = '';

/** The type of keys without a record that former releases have stored. */
export const FORMER_PENDING = 'awaited';
export const isPending = (type: string): string => `${type} IN ('${PENDING}', '${FORMER_PENDING}')`;

/** Where to look for keys by one of these columns; in the other table the same search reads every key of the run. */
export const keysBy = { id: recordKeys.name, session_id: recordKeys.name, trace_id: traceMembers.name } as const;

/**
 * One value of one metric of one record, with the state of its scoring. Scoring never rewrites a record; a newer value has a higher version.
 * `number` holds numbers, booleans as 0 and 1, and of a list of booleans the share that is true; `text` holds texts and categories, `texts` lists of them; `value` the whole value as JSON text.
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
    // The version of the scorer that made the value, or is to make it (`frozen_metrics` of Postgres); empty where it is not known.
    { name: 'scorer_version', sqlType: 'LowCardinality(String)' },
    { name: 'computed_at', sqlType: "DateTime64(6, 'UTC')" },
    { name: 'version', sqlType: 'UInt64' },
    isRewrite,
  ],
  indexes: [{ name: 'by_record', expression: 'record_id', type: 'bloom_filter(0.01)', granularity: 1 }, rewrites],
  // Which metrics have values in a run, without reading them.
  projections: [
    {
      name: 'metrics',
      query:
        'SELECT project_id, run_id, metric, status, countIf(isNotNull(number)), countIf(notEmpty(texts)), count() GROUP BY project_id, run_id, metric, status',
    },
  ],
  orderBy: ['project_id', 'run_id', 'metric', 'record_created_at', 'record_id'],
  version: 'version',
  settings: { index_granularity: 256, ...KEEP_PROJECTIONS, ...SMALL_BLOCKS, ...FEW_FILES, ...SAFE_MERGES },
};

/**
 * Ids of records that were deleted from a run that goes on: an update of one must not wait for its record to come. Kept as long as the run, 17 bytes each.
 */
const deletedRecords: Table = {
  name: 'deleted_records',
  columns: [
    { name: 'project_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'run_id', sqlType: 'UUID CODEC(ZSTD(1))' },
    { name: 'id', sqlType: 'UUID' },
    { name: 'deleted_at', sqlType: "DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))" },
  ],
  indexes: [],
  projections: [],
  orderBy: ['project_id', 'run_id', 'id'],
  version: 'deleted_at',
  settings: { index_granularity: 256, ...FEW_FILES, ...SAFE_MERGES },
};

/** Those that hold records, with what belongs to them. */
export const tablesOfRecords: readonly Table[] = [records, recordKeys, traceMembers, metricValues];
export const tables: readonly Table[] = [...tablesOfRecords, deletedRecords];

/**
 * Creates what is missing, renames columns, adds the columns, indexes and projections that the tables gained, drops the indexes and projections that they
 * lost and changes the settings that differ. Data is never dropped or changed, and every statement may be repeated, so several processes may do it at
 * once. An index added later serves the data written after it; a projection is made for all data, in the background.
 *
 * A table that is as declared is not altered: the engine (chDB 3.4.0) writes a table's definition anew for an ALTER that changes nothing, and on a full
 * disk it put an empty file in its place, with which no start succeeds.
 */
export async function migrateTables(clickhouse: ClickHouse): Promise<void> {
  const names = (name: string, sql: string, table: Table): Promise<string[]> =>
    clickhouse.query({ name, sql, params: { table: table.name }, row: (row) => (row as { name: string }).name });
  for (const declared of tables) {
    const wanted = declared.projections.filter(({ forServers }) => !(forServers && clickhouse.isEmbedded));
    const table = { ...declared, projections: wanted };
    await clickhouse.command({ name: `create ${table.name}`, sql: createTable(table) });
    const ofTable = 'database = currentDatabase() AND table = {table:String}';
    const columns = await names(`columns of ${table.name}`, `SELECT name FROM system.columns WHERE ${ofTable}`, table);
    const indexes = await names(
      `indexes of ${table.name}`,
      `SELECT name FROM system.data_skipping_indices WHERE ${ofTable}`,
      table,
    );
    const projections = await names(
      `projections of ${table.name}`,
      `SELECT name FROM system.projections WHERE ${ofTable}`,
      table,
    );
    const renamed = table.columns.filter(
      ({ name, formerName }) => formerName && columns.includes(formerName) && !columns.includes(name),
    );
    const changes = [
      ...renamed.map(({ name, formerName }) => `RENAME COLUMN IF EXISTS ${formerName} TO ${name}`),
      ...table.columns
        .filter((column) => !columns.includes(column.name) && !renamed.includes(column))
        .map(({ name, sqlType }) => `ADD COLUMN IF NOT EXISTS ${name} ${sqlType}`),
      ...indexes
        .filter((name) => !table.indexes.some((index) => index.name === name))
        .map((name) => `DROP INDEX IF EXISTS ${name}`),
      ...table.indexes.filter(({ name }) => !indexes.includes(name)).map((index) => `ADD INDEX IF NOT EXISTS ${indexSql(index)}`),
      ...projections
        .filter((name) => !table.projections.some((projection) => projection.name === name))
        .map((name) => `DROP PROJECTION IF EXISTS ${name}`),
      ...table.projections
        .filter(({ name }) => !projections.includes(name))
        .flatMap(({ name, query }) => [`ADD PROJECTION IF NOT EXISTS ${name} (${query})`, `MATERIALIZE PROJECTION ${name}`]),
    ];
    const { index_granularity: _, ...changeable } = table.settings;
    await changeSettings(clickhouse, table.name, changeable);
    for (const change of changes) {
      await clickhouse.command({ name: `alter ${table.name}`, sql: `ALTER TABLE ${table.name} ${change}` });
    }
  }
}

function createTable({ name, columns, indexes, projections, orderBy, version, settings }: Table): string {
  const parts = [
    ...columns.map((column) => `${column.name} ${column.sqlType}`),
    ...indexes.map((index) => `INDEX ${indexSql(index)}`),
    ...projections.map((projection) => `PROJECTION ${projection.name} (${projection.query})`),
  ];
  // Blocks of the last inserts are remembered, so that a retry of one that was stored is stored once.
  const all = { non_replicated_deduplication_window: 1000, ...settings };
  return `CREATE TABLE IF NOT EXISTS ${name} (${parts.join(', ')}) ENGINE = ReplacingMergeTree(${version}) ORDER BY (${orderBy.join(', ')}) SETTINGS ${settingsSql(all)}`;
}

/** Gives a table those of these settings that it has otherwise. */
export async function changeSettings(clickhouse: ClickHouse, table: string, settings: Table['settings']): Promise<void> {
  const [definition = ''] = await clickhouse.query({
    name: `settings of ${table}`,
    sql: 'SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
    params: { table },
    row: (row) => (row as { engine_full: string }).engine_full,
  });
  // `… SETTINGS name = value, name = 'text'`
  const [, list = ''] = definition.split(' SETTINGS ');
  const present = new Map(list.split(', ').map((setting) => setting.split(' = ', 2) as [string, string]));
  const differing = Object.fromEntries(Object.entries(settings).filter(([name, value]) => present.get(name) !== String(value)));
  if (Object.keys(differing).length === 0) return;
  await clickhouse.command({ name: `alter ${table}`, sql: `ALTER TABLE ${table} MODIFY SETTING ${settingsSql(differing)}` });
}

const settingsSql = (settings: Table['settings']): string =>
  Object.entries(settings)
    .map(([setting, value]) => `${setting} = ${value}`)
    .join(', ');

const indexSql = ({ name, expression, type, granularity }: Table['indexes'][number]): string =>
  `${name} ${expression} TYPE ${type} GRANULARITY ${granularity}`;
