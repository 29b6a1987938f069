import { type ColumnDef, recordKinds, type StoredColumn } from './columnDef.ts';

/** The counts of `metrics` that have a column of their own: nine by the interface, and what else a price depends on. */
export const systemCounts = [
  'duration_ns',
  'num_input_tokens',
  'num_output_tokens',
  'num_total_tokens',
  'time_to_first_token_ns',
  'num_image_input_tokens',
  'num_audio_input_tokens',
  'num_audio_output_tokens',
  'num_image_output_tokens',
  // Of the input tokens, those that were read from a cache and those that were written to one; of the output tokens, the reasoning.
  'num_cached_input_tokens',
  'num_cache_write_input_tokens',
  'num_reasoning_output_tokens',
] as const;

/** The numbers of `metrics` that have a column of their own; every other key of `metrics` goes to `metrics_extra`. The cost is in US dollars. */
export const systemMetrics = [...systemCounts, 'cost'] as const;

/** The same to look names up. */
export const systemMetricNames: ReadonlySet<string> = new Set(systemMetrics);
export type SystemCount = (typeof systemCounts)[number];
export type SystemMetric = (typeof systemMetrics)[number];

/** Whether a value of `metrics` is kept in a column of its own. */
export const hasOwnColumn = (name: string, value: unknown): value is number =>
  name === 'cost' ? Number.isFinite(value) : systemMetricNames.has(name) && Number.isSafeInteger(value);

/** Rows of former releases have a cost among the other keys. */
const costType =
  "Nullable(Float64) DEFAULT if(JSONType(metrics_extra, 'cost') IN ('Int64', 'UInt64', 'Double'), JSONExtractFloat(metrics_extra, 'cost'), NULL)";
const sqlTypeOf = (name: SystemMetric): string => (name === 'cost' ? costType : 'Nullable(Int64)');

/** The columns `metrics/duration_ns` and so on: filtered and sorted like any metric, read from the record itself. */
export const systemMetricColumns: readonly ColumnDef[] = systemMetrics.map((name) => ({
  id: `metrics/${name}`,
  label: name,
  description: name === 'cost' ? 'What the model calls cost.' : `The number ${name} of the record's metrics.`,
  category: 'metric',
  groupLabel: 'System Metrics',
  ...(name === 'cost' ? ({ dataType: 'floating_point', dataUnit: 'dollars' } as const) : ({ dataType: 'integer' } as const)),
  kinds: recordKinds,
  source: { at: 'record', sqlType: sqlTypeOf(name), name },
  sortable: true,
  filterable: true,
  optional: true,
}));

/** How `metrics` is stored: a column for each number with a name, and the other keys as JSON text of an object, or empty. */
export const metricsTableColumns: readonly StoredColumn[] = [
  ...systemMetrics.map((name) => ({ name, sqlType: sqlTypeOf(name) })),
  { name: 'metrics_extra', sqlType: 'String CODEC(ZSTD(1))' },
];
