import type { Column, LogRecord, RecordKind } from '../data/records.ts';

/** How a column is shown: the widths are pixels that a person changes from. */
export interface ShownColumn {
  id: string;
  label: string;
  /** Of the catalog: text, timestamp, number kinds and so on; undefined where the catalog does not have the column. */
  type: string | undefined;
  width: number;
  /** How a filter compares its values; undefined where it cannot. */
  filterType: string | undefined;
  isNumber: boolean;
  isSortable: boolean;
}

/** Figures that records have by themselves. They can be filtered and sorted by, and are in no catalog. */
const figures: readonly { id: string; label: string }[] = [
  { id: 'metrics/duration_ns', label: 'Latency' },
  { id: 'metrics/num_total_tokens', label: 'Tokens' },
  { id: 'metrics/num_input_tokens', label: 'Input tokens' },
  { id: 'metrics/num_output_tokens', label: 'Output tokens' },
  { id: 'metrics/cost', label: 'Cost' },
];

const asColumn = ({ id, label }: { id: string; label: string }): Column =>
  ({
    id,
    label,
    data_type: 'floating_point',
    filter_type: 'number',
    category: 'metric',
    group_label: 'System Metrics',
    sortable: true,
    filterable: true,
  }) as Column;

/** The catalog of a run with the figures that every record has. */
export const withFigures = (catalog: readonly Column[]): Column[] => [
  ...catalog.filter(({ id }) => !figures.some((figure) => figure.id === id)),
  ...figures.map(asColumn),
];

const usual: Record<RecordKind, readonly string[]> = {
  traces: [
    'created_at',
    'name',
    'input',
    'output',
    'status_code',
    'metrics/duration_ns',
    'metrics/num_input_tokens',
    'metrics/num_output_tokens',
    'metrics/cost',
  ],
  spans: [
    'created_at',
    'type',
    'name',
    'input',
    'output',
    'model',
    'status_code',
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
      label: labelOf(id, column),
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

const shortLabels: Record<string, string> = {
  created_at: 'Time',
  status_code: 'Status',
  'metrics/num_input_tokens': 'Tokens in',
  'metrics/num_output_tokens': 'Tokens out',
};
const labelOf = (id: string, column: Column | undefined): string =>
  shortLabels[id] ?? column?.label ?? id.slice(id.indexOf('/') + 1);

/** The value of a column, whose id may name a key of a map: `metrics/cost`, `user_metadata/customer`. */
export function valueIn(record: LogRecord, id: string): unknown {
  if (id in record) return record[id];
  const slash = id.indexOf('/');
  if (slash < 0) return undefined;
  return (record[id.slice(0, slash)] as Record<string, unknown> | undefined)?.[id.slice(slash + 1)];
}
