import type { Column, LogRecord, RecordKind } from '../data/records.ts';
import { columnLabel } from '../parts/columnLabel.ts';

/** How a column is shown: the widths are pixels that a person changes from. */
export interface ShownColumn {
  id: string;
  label: string;
  /** Type in the catalog: text, timestamp, number kinds and so on. Undefined where the catalog lacks the column. */
  type: string | undefined;
  width: number;
  /** How a filter compares its values; undefined where it cannot. */
  filterType: string | undefined;
  isNumber: boolean;
  isSortable: boolean;
}

/** Figures that records have by themselves. They can be filtered and sorted by, and are not in every catalog. */
const figures = [
  'metrics/duration_ns',
  'metrics/num_total_tokens',
  'metrics/num_input_tokens',
  'metrics/num_output_tokens',
  'metrics/cost',
] as const;

const asColumn = (id: string): Column =>
  ({
    id,
    label: id,
    data_type: 'floating_point',
    filter_type: 'number',
    category: 'metric',
    group_label: 'System Metrics',
    sortable: true,
    filterable: true,
  }) as Column;

/** The catalog of a run with the figures that every record has, under the labels of the console. */
export const withFigures = (catalog: readonly Column[]): Column[] =>
  [...catalog.filter(({ id }) => !figures.some((figure) => figure === id)), ...figures.map(asColumn)].map((column) => ({
    ...column,
    label: columnLabel(column),
  }));

const usual: Record<RecordKind, readonly string[]> = {
  traces: [
    'created_at',
    'name',
    'status_code',
    'input',
    'output',
    'metrics/duration_ns',
    'metrics/num_input_tokens',
    'metrics/num_output_tokens',
    'metrics/cost',
  ],
  spans: [
    'created_at',
    'type',
    'name',
    'status_code',
    'input',
    'output',
    'model',
    'metrics/duration_ns',
    'metrics/num_input_tokens',
    'metrics/num_output_tokens',
  ],
  sessions: [
    'created_at',
    'name',
    'external_id',
    'input',
    'output',
    'metrics/duration_ns',
    'metrics/num_input_tokens',
    'metrics/num_output_tokens',
    'metrics/cost',
  ],
};

export const usualColumns = (kind: RecordKind): readonly string[] => usual[kind];

const numbers = new Set(['integer', 'floating_point']);
const widths: Record<string, number> = {
  input: 288,
  output: 288,
  name: 160,
  created_at: 152,
  status_code: 72,
  type: 96,
  model: 144,
};

/** The columns of these ids in their order; an id that the catalog lacks, as a key of the metadata, is text. */
export function shownColumns(ids: readonly string[], catalog: readonly Column[]): ShownColumn[] {
  return ids.map((id) => {
    const column = catalog.find((one) => one.id === id);
    const isNumber = numbers.has(column?.data_type ?? '');
    return {
      id,
      label: column?.label ?? id.slice(id.indexOf('/') + 1),
      type: column?.data_type ?? undefined,
      filterType: column ? (column.filterable ? column.filter_type : undefined) : mapType(id),
      width: widths[id] ?? (isNumber ? 96 : 160),
      isNumber,
      isSortable: column ? column.sortable : id.includes('/'),
    };
  });
}

/** Keys of the two maps are in no catalog, and compared as texts. */
const mapType = (id: string): string | undefined => (/^(?:user|dataset)_metadata\//.test(id) ? 'text' : undefined);

/** The value of a column, whose id may name a key of a map: `metrics/cost`, `user_metadata/customer`. */
export function valueIn(record: LogRecord, id: string): unknown {
  if (id in record) return record[id];
  const slash = id.indexOf('/');
  if (slash < 0) return undefined;
  return (record[id.slice(0, slash)] as Record<string, unknown> | undefined)?.[id.slice(slash + 1)];
}
