import { recordKinds } from '../wire/recordKinds.ts';
import { type SystemMetric, systemMetricNames, systemMetrics } from '../wire/systemCounts.ts';
import type { ColumnDef, ColumnSource, StoredColumn } from './columnDef.ts';

/** Returns whether a value of `metrics` is kept in a column of its own. */
export const hasOwnColumn = (name: string, value: unknown): value is number =>
  name === 'cost' ? Number.isFinite(value) : systemMetricNames.has(name) && Number.isSafeInteger(value);

/** Model calls without a cost: what a sum of costs lacks. Counted when it is asked for. */
export const WITHOUT_COST = 'num_spans_without_cost';

/** Every number that is read from the records themselves. */
export const ownNumbers = [...systemMetrics, WITHOUT_COST] as const;
export type OwnNumber = (typeof ownNumbers)[number];

/** Numbers that are of model calls: traces and sessions have the sums over the spans whose usage counts. */
export const usageMetrics = [...systemMetrics.filter(isUsage), WITHOUT_COST] as const;
export type UsageMetric = (typeof usageMetrics)[number];

export const isUsageMetric = (name: OwnNumber): name is UsageMetric => name === WITHOUT_COST || isUsage(name);

function isUsage(name: SystemMetric): name is Exclude<SystemMetric, 'duration_ns' | 'time_to_first_token_ns'> {
  return name !== 'duration_ns' && name !== 'time_to_first_token_ns';
}

/** Rows of former releases have a cost among the other keys. */
const costType =
  "Nullable(Float64) DEFAULT if(JSONType(metrics_extra, 'cost') IN ('Int64', 'UInt64', 'Double'), JSONExtractFloat(metrics_extra, 'cost'), NULL)";
const sqlTypeOf = (name: SystemMetric): string => (name === 'cost' ? costType : 'Nullable(Int64)');

const descriptions: Readonly<Partial<Record<string, string>>> = {
  cost: 'US dollars that the model calls cost, of those whose cost is known.',
  [WITHOUT_COST]: 'Model calls whose cost is not known.',
};

/** The columns `metrics/duration_ns` and so on: filtered and sorted like any metric, read from the records themselves. */
export const systemMetricColumns: readonly ColumnDef[] = ownNumbers.map((name) => ({
  id: `metrics/${name}`,
  label: name,
  description: descriptions[name] ?? `The number ${name} of the record's metrics.`,
  category: 'metric',
  groupLabel: 'System Metrics',
  ...(name === 'cost' ? ({ dataType: 'floating_point', dataUnit: 'dollars' } as const) : ({ dataType: 'integer' } as const)),
  kinds: recordKinds,
  source: sourceOf(name),
  sortable: true,
  filterable: true,
  optional: true,
}));

function sourceOf(name: OwnNumber): ColumnSource {
  return isUsageMetric(name) ? { at: 'usage', name } : { at: 'record', sqlType: sqlTypeOf(name), name };
}

/** How `metrics` is stored: a column for each number with a name, and the other keys as JSON text of an object, or empty. */
export const metricsTableColumns: readonly StoredColumn[] = [
  ...systemMetrics.map((name) => ({ name, sqlType: sqlTypeOf(name) })),
  { name: 'metrics_extra', sqlType: 'String CODEC(ZSTD(1))' },
];
