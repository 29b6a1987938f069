/** Columns that the console calls by a shorter name than the catalog. */
const ownLabels: Readonly<Record<string, string>> = {
  created_at: 'Time',
  status_code: 'Status',
  dataset_row_ordinal: 'Row',
  dataset_output: 'Reference',
  'metrics/duration_ns': 'Latency',
  'metrics/num_total_tokens': 'Tokens',
  'metrics/num_input_tokens': 'Tokens in',
  'metrics/num_output_tokens': 'Tokens out',
  'metrics/cost': 'Cost',
};

/** Columns of these groups are called what people called them. */
const namedByPeople = new Set(['Custom Metrics', 'Metrics', 'Metrics Testing', 'User Metadata', 'Dataset Metadata']);

/**
 * The label of a column of a catalog in sentence case: `Created At` is written `Time`, `Tool Call Id` is `Tool call id`, `num_reasoning_output_tokens` is
 * `Reasoning output tokens`. Abbreviations, and names that people gave, stay as they are.
 */
export function columnLabel({ id, label, group_label }: { id: string; label: string; group_label: string }): string {
  const own = ownLabels[id];
  if (own !== undefined) return own;
  if (namedByPeople.has(group_label)) return label;
  const words = label.replace(/^num_/, '').replace(/_ns$/, '').replaceAll('_', ' ');
  return (
    words.slice(0, 1).toUpperCase() + words.slice(1).replaceAll(/(?<= )[A-Z](?=[a-z]+\b)/g, (letter) => letter.toLowerCase())
  );
}
