import type { ColumnDef } from '../columns/columnDef.ts';
import { undefinedMetric, underScorerId } from '../records/columnCatalog.ts';
import { metricOfColumn } from '../records/findColumn.ts';
import { builtinColumns } from '../scorers/presets.ts';
import { GateStatus } from '../wire/experimentGate.ts';
import type { ExperimentColumn } from '../wire/experiments.ts';
import { noScale } from '../wire/metricScale.ts';
import { runStates } from './experiment.ts';
import type { AggregatedMetric } from './experimentStore.ts';
import { isScorerId } from './metricNames.ts';
import { measuredScale } from './metricScales.ts';

type Standard = Pick<ExperimentColumn, 'id' | 'label' | 'description' | 'data_type'> & Partial<ExperimentColumn>;

/** Columns by which experiments are listed, filtered and sorted, beside their metrics. */
const standard: readonly Standard[] = [
  { id: 'name', label: 'Name', description: 'Name of the experiment.', data_type: 'text', sortable: true, filterable: true },
  { id: 'id', label: 'ID', description: 'Id of the experiment.', data_type: 'uuid', filterable: true },
  {
    id: 'created_at',
    label: 'Created At',
    description: 'When the experiment was made.',
    data_type: 'timestamp',
    sortable: true,
    filterable: true,
  },
  {
    id: 'updated_at',
    label: 'Updated At',
    description: 'When the experiment last changed or its run ended.',
    data_type: 'timestamp',
    sortable: true,
    filterable: true,
  },
  { id: 'created_by', label: 'Created By', description: 'Id of the user who made it.', data_type: 'uuid', filterable: true },
  {
    id: 'experiment_group_id',
    label: 'Group ID',
    description: 'Id of the group it is in.',
    data_type: 'uuid',
    filterable: true,
  },
  {
    id: 'experiment_group_name',
    label: 'Group',
    description: 'Name of the group it is in.',
    data_type: 'text',
    sortable: true,
    filterable: true,
  },
  {
    id: 'series',
    label: 'Series',
    description: 'The name without the time that is put behind one that is taken.',
    data_type: 'text',
    sortable: true,
    filterable: true,
  },
  {
    id: 'state',
    label: 'State',
    description: 'How its run is.',
    data_type: 'text',
    allowed_values: [...runStates],
    sortable: true,
    filterable: true,
  },
  {
    id: 'gate',
    label: 'Gate',
    description: 'What its gates came to.',
    data_type: 'text',
    allowed_values: [...GateStatus.options],
    sortable: true,
    filterable: true,
  },
  {
    id: 'approved',
    label: 'Baseline',
    description: 'Whether it is approved as a baseline.',
    data_type: 'boolean',
    filterable: true,
  },
  {
    id: 'rows',
    label: 'Rows',
    description: 'Rows that were recorded.',
    data_type: 'integer',
    sortable: true,
    filterable: true,
  },
  {
    id: 'rows_failed',
    label: 'Failed Rows',
    description: 'Rows that failed.',
    data_type: 'integer',
    sortable: true,
    filterable: true,
  },
  {
    id: 'total_cost',
    label: 'Total Cost',
    description: 'Price of all model calls of its rows, as far as it is known.',
    data_type: 'floating_point',
    data_unit: 'dollars',
    sortable: true,
    filterable: true,
  },
  {
    id: 'dataset',
    label: 'Dataset',
    description: 'Dataset and version that its rows come from.',
    data_type: 'dataset',
    category: 'dataset',
    is_optional: true,
    sortable: true,
    filterable: true,
  },
  {
    id: 'prompt',
    label: 'Prompt',
    description: 'Prompt template and version that it runs.',
    data_type: 'prompt',
    is_optional: true,
  },
  {
    id: 'prompt_model',
    label: 'Model',
    description: 'Model that the prompt is sent to.',
    data_type: 'text',
    is_optional: true,
    sortable: true,
    filterable: true,
  },
  {
    id: 'tags',
    label: 'Tags',
    description: 'Tags by key. A filter compares each as `key=value`.',
    data_type: 'tag',
    filterable: true,
    category: 'tags',
    multi_valued: true,
    is_optional: true,
  },
  { id: 'num_sessions', label: 'Sessions', description: 'Sessions in the experiment.', data_type: 'integer', is_optional: true },
  { id: 'num_traces', label: 'Traces', description: 'Traces in the experiment.', data_type: 'integer', is_optional: true },
  { id: 'num_spans', label: 'Spans', description: 'Spans in the experiment.', data_type: 'integer', is_optional: true },
];

/** Columns of the figures that every run has without a scorer. The aggregates hold them under these names. */
const measured: readonly Standard[] = [
  {
    id: 'metrics/duration_ns',
    label: 'Duration',
    description: 'Time that a row took, without waiting.',
    data_type: 'integer',
    data_unit: 'nano_seconds',
  },
  {
    id: 'metrics/num_input_tokens',
    label: 'Input Tokens',
    description: 'Tokens sent to models for a row.',
    data_type: 'integer',
  },
  {
    id: 'metrics/num_output_tokens',
    label: 'Output Tokens',
    description: 'Tokens that models answered for a row.',
    data_type: 'integer',
  },
  { id: 'metrics/num_total_tokens', label: 'Total Tokens', description: 'Tokens of a row in all.', data_type: 'integer' },
  {
    id: 'metrics/cost',
    label: 'Cost',
    description: 'Price of the model calls of a row, where it is known.',
    data_type: 'floating_point',
    data_unit: 'dollars',
  },
];

const unset = {
  category: 'standard',
  group_label: 'Standard',
  data_unit: null,
  multi_valued: false,
  allowed_values: null,
  sortable: false,
  filterable: false,
  is_empty: false,
  applicable_types: [],
  is_optional: false,
  roll_up_method: null,
  metric_key_alias: null,
  ...noScale,
} as const satisfies Partial<ExperimentColumn>;

const builtIn: ReadonlyMap<string, ColumnDef> = new Map(builtinColumns.map((column) => [metricOfColumn(column.id), column]));

/** Metrics that no run has switched on: those that clients computed themselves. A scorer's id without its scorer says nothing to anybody. */
function loggedMetrics(metrics: readonly ColumnDef[], aggregated: readonly AggregatedMetric[]): ColumnDef[] {
  const listed = new Set([...measured, ...metrics].map(({ id }) => id));
  return aggregated
    .filter(({ metric }) => !listed.has(`metrics/${metric}`) && !isScorerId(metric))
    .map((one) => builtIn.get(one.metric) ?? { ...undefinedMetric(one), scale: one.scale });
}

const hasFigure = ({ dataType, rollUpMethod }: ColumnDef): boolean =>
  rollUpMethod !== 'category_count' && dataType !== 'text' && dataType !== 'string_list';

/**
 * Columns of a list of experiments: the standard ones, what every run is measured by, then one per metric, and the metrics of built-in scorers again
 * under the scorer's id. A metric's id without `metrics/` is its key in the aggregates.
 * @param metrics those that the project's runs compute
 */
export function experimentColumns(metrics: readonly ColumnDef[], aggregated: readonly AggregatedMetric[]): ExperimentColumn[] {
  const scored = [...metrics, ...loggedMetrics(metrics, aggregated)];
  return [
    ...standard.map((column) => ({ ...unset, ...column, applicable_types: [] })),
    ...measured.map((column) => ({
      ...unset,
      ...column,
      category: 'metric' as const,
      group_label: 'System Metrics',
      applicable_types: [],
      is_optional: true,
      sortable: true,
      filterable: true,
      roll_up_method: 'average',
      ...measuredScale,
    })),
    ...scored.map(columnOfMetric),
    ...scored.flatMap(underScorerId).map(columnOfMetric),
  ];
}

const columnOfMetric = (metric: ColumnDef): ExperimentColumn => ({
  ...unset,
  id: metric.id,
  label: metric.label,
  description: metric.description,
  category: 'metric' as const,
  group_label: metric.groupLabel,
  data_type: metric.dataType,
  data_unit: metric.dataUnit ?? null,
  multi_valued: metric.multiValued ?? false,
  // Metrics of labels and texts have no figure to sort and filter by.
  sortable: hasFigure(metric),
  filterable: hasFigure(metric),
  applicable_types: [],
  is_empty: metric.isEmpty ?? false,
  roll_up_method: metric.rollUpMethod ?? null,
  metric_key_alias: metric.metricKeyAlias ?? null,
  ...(metric.scale ?? noScale),
});
