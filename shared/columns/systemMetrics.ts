import { type ColumnDef, recordKinds, type StoredColumn } from './columnDef.ts';

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

/** How `metrics` is stored: a column for each number with a name, and the other keys as JSON text of an object, or empty. */
export const metricsTableColumns: readonly StoredColumn[] = [
  ...systemMetrics.map((name) => ({ name, sqlType: systemMetricType })),
  { name: 'metrics_extra', sqlType: 'String CODEC(ZSTD(1))' },
];
