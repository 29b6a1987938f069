import type { SourceRow } from '../experiments/experiment.ts';
import { cellText, parseJson } from './cells.ts';
import type { Cell, DatasetRow } from './dataset.ts';

/** The record fields of a row: `dataset_input`, `dataset_output`, `dataset_metadata`, and the variables that prompts and runners see. */
export function toExperimentRow(row: DatasetRow): SourceRow {
  const cell = (name: string): Cell => (Object.hasOwn(row.values, name) ? (row.values[name] ?? null) : null);
  const input = cellText(cell('input'));
  return {
    rowId: row.rowId,
    ordinal: row.ordinal,
    input,
    expected: textOrNull(cell('output') ?? cell('ground_truth')),
    metadata: metadataOf(cell('metadata')),
    generatedOutput: textOrNull(cell('generated_output')),
    variables: {
      ...row.values,
      ...(Object.hasOwn(row.values, 'input')
        ? { input: typeof cell('input') === 'string' ? parsedInput(input) : cell('input') }
        : {}),
    },
  };
}

/** What the variables of a template are filled in with: a text in `input` byte for byte, also one that is JSON. Paths reach into such a text all the same. */
export const templateVariables = ({ input, variables }: Pick<SourceRow, 'input' | 'variables'>): Record<string, unknown> =>
  Object.hasOwn(variables, 'input') ? { ...variables, input } : variables;

const textOrNull = (cell: Cell): string | null => (cell === null ? null : cellText(cell));

/** The value a JSON text stands for. A number or boolean only where its text would come out the same: `1.0` or `007` stay texts. */
function parsedInput(text: string): unknown {
  if (!/^\s*[[{\d\-tf]/.test(text)) return text;
  try {
    const value = parseJson(text);
    return typeof value === 'object' || JSON.stringify(value) === text.trim() ? value : text;
  } catch {
    return text;
  }
}

/** An object, or a JSON object in a text; any other text stands under `metadata`. */
function metadataOf(cell: Cell): Record<string, string> {
  if (cell === null || cell === '') return {};
  const value = typeof cell === 'string' ? parsedInput(cell) : cell;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { metadata: cellText(cell) };
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === null ? [] : [[key, typeof inner === 'string' ? inner : JSON.stringify(inner)]],
    ),
  );
}
