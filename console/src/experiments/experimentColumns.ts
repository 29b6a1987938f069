import type { FilterColumn } from '../../../shared/filterText/parseFilterText.ts';
import type { Experiment, ExperimentColumn, MetricFigures } from '../data/experiments.ts';
import { figuresOf } from '../data/experiments.ts';
import { type FigureColumn, figureColumn } from '../figures/metricFigure.ts';

/** A column of the table of experiments. */
export interface CatalogColumn extends FilterColumn {
  id: string;
  label: string;
  group_label: string;
  filterable: boolean;
  sortable: boolean;
  /** Pixels. */
  width: number;
  isNumber: boolean;
  /** A metric that a scorer or the caller computes: it is shown with its interval and what it is made of. */
  figure: FigureColumn | undefined;
  /** A measure that every run has: a number alone. */
  measured: FigureColumn | undefined;
}

const labels: Readonly<Record<string, string>> = {
  created_at: 'When',
  updated_at: 'Changed',
  created_by: 'Made by',
  rows_failed: 'Failed',
  total_cost: 'Cost',
  'metrics/duration_ns': 'Latency',
  'metrics/num_input_tokens': 'Tokens in',
  'metrics/num_output_tokens': 'Tokens out',
  'metrics/num_total_tokens': 'Tokens',
  'metrics/cost': 'Cost of a row',
};

const widths: Readonly<Record<string, number>> = {
  name: 208,
  tags: 200,
  state: 112,
  created_at: 152,
  updated_at: 152,
  rows: 72,
  rows_failed: 64,
  gate: 96,
  approved: 88,
};
/** Room for a figure with the mark of a model that judged itself, the bar, and what the figure is made of. */
const FIGURE_WIDTH = 216;

/** Counts need the records of each experiment; a group is filtered by its name. */
const left = new Set(['num_sessions', 'num_traces', 'num_spans', 'experiment_group_id']);

/** The columns that the table can have. Built-in metrics are there by their names alone, not by the ids of their scorers again. */
export function catalogOf(columns: readonly ExperimentColumn[]): CatalogColumn[] {
  const ids = new Set(columns.map(({ id }) => id));
  const isAgain = ({ metric_key_alias: alias }: ExperimentColumn) => alias !== null && ids.has(`metrics/${alias}`);
  return columns.filter((column) => !left.has(column.id) && !isAgain(column)).map(catalogColumn);
}

function catalogColumn(column: ExperimentColumn): CatalogColumn {
  const { id, data_type, group_label, filterable, sortable } = column;
  const isMetric = column.category === 'metric';
  const isMeasured = isMetric && group_label === 'System Metrics';
  const label = labels[id] ?? column.metric_key_alias ?? column.label;
  const isNumber = isMeasured || data_type === 'integer' || data_type === 'floating_point';
  return {
    ...{ id, label, group_label, filterable, sortable, isNumber },
    filter_type: filterable ? filterType(column) : undefined,
    allowed_values: column.allowed_values?.map(String),
    metric_key_alias: column.metric_key_alias,
    width: widths[id] ?? (isMetric && !isMeasured ? FIGURE_WIDTH : isNumber ? 88 : 144),
    figure: isMetric && !isMeasured ? { ...figureColumn(column), label } : undefined,
    measured: isMeasured || id === 'total_cost' ? { ...figureColumn(column), label } : undefined,
  };
}

/** How a filter compares the values of a column. The figure of a metric is a number whatever its values are. */
function filterType({ category, data_type, allowed_values }: ExperimentColumn): string {
  if (category === 'metric' || data_type === 'integer' || data_type === 'floating_point') return 'number';
  if (allowed_values) return 'choice';
  return { uuid: 'id', timestamp: 'date', boolean: 'boolean', tag: 'collection' }[data_type as string] ?? 'text';
}

/** Counts that an earlier release has stored lack the number of values. */
const hasValues = (found: MetricFigures | undefined): boolean =>
  found !== undefined && (found.counts ? found.counts.values > 0 : found.figure !== null || found.figures !== null);

/** Metrics of the usual columns. */
const MOST_METRICS = 3;

/** The columns without a choice: those of the metrics that most of the experiments have, and only of what some of them have. */
export function usualColumns(catalog: readonly CatalogColumn[], experiments: readonly Experiment[]): string[] {
  const timesOf = ({ figure }: CatalogColumn) =>
    figure ? experiments.filter((one) => hasValues(figuresOf(one, figure.metric))).length : 0;
  const metrics = catalog
    .map((column) => ({ id: column.id, times: timesOf(column) }))
    .filter(({ times }) => times > 0)
    .sort((a, b) => b.times - a.times)
    .slice(0, MOST_METRICS)
    .map(({ id }) => id);
  const some = (has: (one: Experiment) => boolean, id: string) => (experiments.some(has) ? [id] : []);
  return [
    ...['name', 'state', 'rows', 'rows_failed'],
    ...metrics,
    ...['metrics/duration_ns'],
    ...some(({ usage }) => usage?.run.cost != null, 'total_cost'),
    'created_at',
    ...some(({ experiment_group_is_system: isSystem }) => !isSystem, 'experiment_group_name'),
    ...some(({ tags }) => Object.keys(tags).length > 0, 'tags'),
  ];
}

/** Rows that were recorded, and those of them that failed; undefined where nothing says it. */
export function rowsOf(experiment: Experiment): { rows: number | undefined; failed: number | undefined } {
  const [counts] = Object.values(experiment.aggregate_metric_counts ?? {});
  return { rows: counts?.rows ?? experiment.aggregate_metrics.total_responses, failed: counts?.rows_failed };
}
