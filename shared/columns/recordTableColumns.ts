import { type ColumnDef, recordKinds, type StoredColumn } from './columnDef.ts';
import { standardColumns } from './standard.ts';

/** The nine numbers of `metrics` that have a name of their own in the interface; every other key of `metrics` goes to `metrics_extra`. */
export const systemMetrics = [
  'duration_ns',
  'num_input_tokens',
  'num_output_tokens',
  'num_total_tokens',
  'time_to_first_token_ns',
  'num_image_input_tokens',
  'num_audio_input_tokens',
  'num_audio_output_tokens',
  'num_image_output_tokens',
] as const;

/** The same to look names up. */
export const systemMetricNames: ReadonlySet<string> = new Set(systemMetrics);
export type SystemMetric = (typeof systemMetrics)[number];

const systemMetricType = 'Nullable(Int64)';

/** The columns `metrics/duration_ns` and so on: filtered and sorted like any metric, read from the record itself. */
export const systemMetricColumns: readonly ColumnDef[] = systemMetrics.map((name) => ({
  id: `metrics/${name}`,
  label: name,
  description: `The number ${name} of the record's metrics.`,
  category: 'metric',
  groupLabel: 'System Metrics',
  dataType: 'integer',
  kinds: recordKinds,
  source: { at: 'record', sqlType: systemMetricType, name },
  sortable: true,
  filterable: true,
  optional: true,
}));

/** What is stored with a record beside its standard columns. */
const unlistedColumns: readonly StoredColumn[] = [
  // A text that is a JSON value on the wire (messages, parts, documents) is stored as JSON text with its flag set; a plain string as it is.
  { name: 'input_is_json', sqlType: 'Bool' },
  { name: 'output_is_json', sqlType: 'Bool' },
  { name: 'redacted_input', sqlType: 'Nullable(String) CODEC(ZSTD(1))' },
  { name: 'redacted_input_is_json', sqlType: 'Bool' },
  { name: 'redacted_output', sqlType: 'Nullable(String) CODEC(ZSTD(1))' },
  { name: 'redacted_output_is_json', sqlType: 'Bool' },
  { name: 'user_metadata', sqlType: 'Map(LowCardinality(String), String) CODEC(ZSTD(1))' },
  { name: 'dataset_metadata', sqlType: 'Map(LowCardinality(String), String) CODEC(ZSTD(1))' },
  ...systemMetrics.map((name) => ({ name, sqlType: systemMetricType })),
  // JSON text of an object, or empty: keys of `metrics` that have no column.
  { name: 'metrics_extra', sqlType: 'String CODEC(ZSTD(1))' },
  { name: 'events', sqlType: 'Nullable(String) CODEC(ZSTD(1))' },
  { name: 'file_ids', sqlType: 'Array(UUID)' },
  { name: 'file_modalities', sqlType: 'Array(LowCardinality(String))' },
  { name: 'previous_session_id', sqlType: 'Nullable(UUID)' },
  { name: 'metrics_batch_id', sqlType: 'Nullable(UUID)' },
  { name: 'session_batch_id', sqlType: 'Nullable(UUID)' },
  // Of a trace: whether more spans will follow. The records below it read it from there.
  { name: 'trace_is_complete', sqlType: 'Bool DEFAULT true' },
  // Of an experiment's row: which attempt wrote it; the highest one counts.
  { name: 'attempt', sqlType: 'UInt32' },
  // Decides between rewrites of one record: the highest one counts.
  { name: 'version', sqlType: 'UInt64' },
];

/** Every column of the record table, derived from the registry. */
export const recordTableColumns: readonly StoredColumn[] = [
  ...standardColumns.flatMap(({ id, source }) => (source.at === 'record' ? [{ name: id, sqlType: source.sqlType }] : [])),
  ...unlistedColumns,
];
