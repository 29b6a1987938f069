import { parseJson } from '../json/parseJson.ts';
import { isBlank } from '../wire/isBlank.ts';
import { isObject } from '../wire/isObject.ts';
import { cellText } from './cells.ts';
import type { Cell, DatasetRow } from './dataset.ts';

/** A row as it is stored, wherever that is. */
export interface SourceRow {
  rowId: string;
  /** Position in the dataset version, or the list of records. */
  ordinal: number;
  /** Input of its record: the text of the `input` cell, or where that is empty what its other columns come to. */
  input: string;
  /** Text of `output`, else of `ground_truth`. */
  expected: string | null;
  metadata: Record<string, string>;
  generatedOutput: string | null;
  /** Cells by column name, `input` parsed where it is JSON; a template's variables and a function's argument are taken from them. */
  variables: Record<string, unknown>;
}

/** The record fields of a row: `input` and `dataset_input`, `dataset_output`, `dataset_metadata`, and the variables that prompts and runners see. */
export function toExperimentRow(row: DatasetRow): SourceRow {
  const cell = (name: string): Cell => (Object.hasOwn(row.values, name) ? (row.values[name] ?? null) : null);
  const own = cellText(cell('input'));
  return {
    rowId: row.rowId,
    ordinal: row.ordinal,
    input: isBlank(own) ? inputOfColumns(row.values) || own : own,
    expected: textOrNull(cell('output') ?? cell('ground_truth')),
    metadata: metadataOf(cell('metadata')),
    generatedOutput: textOrNull(cell('generated_output')),
    variables: {
      ...row.values,
      ...(Object.hasOwn(row.values, 'input')
        ? { input: typeof cell('input') === 'string' ? parsedInput(own) : cell('input') }
        : {}),
    },
  };
}

/** Columns, in lower case, that are no input where a dataset has no column `input`: answers, references and metadata. */
const NO_INPUT: ReadonlySet<string> = new Set([
  ...['input', 'output', 'generated_output', 'metadata', 'ground_truth', 'dataset_output'],
  ...['expected', 'expected_output', 'expected_answer', 'reference', 'reference_output', 'reference_answer'],
]);

/**
 * The input of a row whose cell `input` is empty or missing, made of its other columns: where there is one alone its text, else a JSON object of the
 * cells that are not empty. The form depends on the columns, so that all rows of a version have the same. Lists and objects are put in as they are
 * written, so their numbers keep all digits.
 */
function inputOfColumns(values: DatasetRow['values']): string {
  const columns = Object.entries(values).filter(([name]) => !NO_INPUT.has(name.toLowerCase()));
  const [only] = columns;
  if (columns.length === 1 && only) return cellText(only[1]);
  const filled = columns.filter(([, cell]) => cell !== null && cell !== '');
  if (filled.length === 0) return '';
  return `{${filled.map(([name, cell]) => `${JSON.stringify(name)}:${isNestedJson(cell) ? cell : JSON.stringify(cell)}`).join(',')}}`;
}

function isNestedJson(cell: Cell): boolean {
  if (typeof cell !== 'string' || !/^\s*[[{]/.test(cell)) return false;
  try {
    JSON.parse(cell);
    return true;
  } catch {
    return false;
  }
}

/** Returns the text that a runner gets: the cell `input` as it is, an empty one too; for a row without that column its input in the record. */
export const givenInput = ({ input, variables }: Pick<SourceRow, 'input' | 'variables'>): string => {
  const cell = Object.hasOwn(variables, 'input') ? (variables.input as Cell) : input;
  return cell === null || (typeof cell === 'string' && isBlank(cell)) ? cellText(cell) : input;
};

/** Returns the values of the variables of a template. A text in `input` is kept byte for byte, also one that is JSON; paths reach into such a text all the same. */
export const templateVariables = (row: Pick<SourceRow, 'input' | 'variables'>): Record<string, unknown> =>
  Object.hasOwn(row.variables, 'input') ? { ...row.variables, input: givenInput(row) } : row.variables;

const textOrNull = (cell: Cell): string | null => (cell === null ? null : cellText(cell));

/** Parses a text that is JSON. Numbers and booleans only where they would be written the same: `1.0` or `007` stay texts. */
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
  if (!isObject(value)) return { metadata: cellText(cell) };
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === null ? [] : [[key, typeof inner === 'string' ? inner : JSON.stringify(inner)]],
    ),
  );
}
