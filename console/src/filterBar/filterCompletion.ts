import { operatorsOf } from '../../../shared/filterText/parseFilterText.ts';
import { valueText, wordText } from '../../../shared/filterText/printFilterText.ts';
import { type WrittenPart, writtenPart } from '../../../shared/filterText/writtenPart.ts';
import type { ColumnValues } from '../../../shared/wire/columnValues.ts';
import { countText } from '../parts/format.ts';

/** The text that may come next: it replaces the text from `start` to the end of the word at the caret. */
export interface Option {
  start: number;
  text: string;
  hint: string;
}

/** A column of the catalog, or a key of the metadata. */
export interface KnownColumn {
  id: string;
  label: string;
  filterable: boolean;
  filter_type?: string | null | undefined;
  allowed_values?: readonly unknown[] | null | undefined;
  group_label: string;
  metric_key_alias?: string | null | undefined;
  hint?: string;
}

/** A condition whose value is being written. */
export interface WrittenValue {
  column: KnownColumn;
  text: string;
  /** The conditions that hold beside it: what stands before it, where `and` joins them. */
  beside: string;
}

/** Values that a column has, with the number of things that have each. */
type FoundValues = Pick<ColumnValues, 'values'>;

const MOST = 20;

/** The keys of the metadata as columns: they are in no catalog. */
export const keyColumns = (keys: readonly { column_id: string; count: number }[]): KnownColumn[] =>
  keys.map(({ column_id: id, count }) => ({
    ...{ id, label: id, filter_type: 'text', filterable: true, group_label: '' },
    hint: `metadata of ${countText(count)}`,
  }));

/** The condition before the caret as far as its value, where one is being written. */
export function writtenValue(text: string, caret: number, columns: readonly KnownColumn[]): WrittenValue | undefined {
  const { operator, column: name, value, start } = writtenPart(text.slice(0, caret));
  const column = operator === undefined ? undefined : columnOf(name, columns);
  if (!column) return undefined;
  return { column, text: value.text, beside: /^(.*)\sand\s*$/is.exec(text.slice(0, start))?.[1] ?? '' };
}

/** @param found the values of the column, where they have been counted */
export function optionsOf(text: string, caret: number, columns: readonly KnownColumn[], found?: FoundValues): Option[] {
  const part = writtenPart(text.slice(0, caret));
  const column = columnOf(part.column, columns);
  const options =
    part.operator !== undefined
      ? [...valuesOf(column, part, found), ...(part.mayEnd ? joins(part) : [])]
      : part.column === ''
        ? [...columnsLike(part, columns), ...negation(part)]
        : [...(column ? operatorsFor(column, part) : []), ...columnsOfWords(text.slice(part.start, caret), part.start, columns)];
  return options.slice(0, MOST);
}

/** The text when an option is taken at the caret, and where the caret is then. */
export function withOption(text: string, caret: number, { start, text: taken }: Option): { text: string; caret: number } {
  const behind = text.slice(endOfWord(text, start, caret)).trimStart();
  return { text: text.slice(0, start) + taken + behind, caret: start + taken.length };
}

const columnOf = (written: string, columns: readonly KnownColumn[]): KnownColumn | undefined =>
  columns.find(({ id }) => id === written) ??
  columns.find(({ metric_key_alias: alias }) => alias != null && written === `metrics/${alias}`);

const has = (whole: string, part: string): boolean => whole.toLowerCase().includes(part.toLowerCase());

const columnsLike = ({ word }: WrittenPart, columns: readonly KnownColumn[]): Option[] =>
  columns.filter(({ id, label }) => has(id, word.text) || has(label, word.text)).flatMap(asOption(word.start));

/** Columns whose id begins with several words that are written without quotes: all of these words are replaced. */
const columnsOfWords = (words: string, start: number, columns: readonly KnownColumn[]): Option[] =>
  columns.filter(({ id }) => id.toLowerCase().startsWith(words.toLowerCase())).flatMap(asOption(start));

const asOption =
  (start: number) =>
  ({ id, label, filterable, filter_type, hint }: KnownColumn): Option[] =>
    filterable ? [{ start, text: `${wordText(id)} `, hint: hint ?? `${label}, ${filter_type}` }] : [];

const wordsLike = (words: readonly string[], { text, start }: WrittenPart['word'], hint: string): Option[] =>
  words.filter((one) => one.startsWith(text.toLowerCase())).map((one) => ({ start, text: `${one} `, hint }));

const joins = ({ word }: WrittenPart): Option[] => wordsLike(['and', 'or'], word, 'joins conditions');
const negation = ({ word }: WrittenPart): Option[] => (word.text === '' ? [] : wordsLike(['not'], word, 'excludes'));

const operatorsFor = ({ filter_type }: KnownColumn, { word }: WrittenPart): Option[] =>
  wordsLike(operatorsOf[filter_type ?? ''] ?? [], word, 'compares');

function valuesOf(column: KnownColumn | undefined, { value }: WrittenPart, found: FoundValues | undefined): Option[] {
  if (!column) return [];
  const { filter_type: type, label } = column;
  const counted = found?.values ?? [];
  const allowed = type === 'boolean' ? [true, false] : (column.allowed_values ?? []);
  const others = allowed.filter((one) => !counted.some((is) => String(is.value) === String(one)));
  const times = type === 'date' ? ['15m', '1h', '1d', '7d'] : [];
  return [
    ...counted.map((one) => ({ value: one.value, hint: countText(one.count) })),
    ...others.map((one) => ({ value: one, hint: label })),
    ...times.map((one) => ({ value: one, hint: 'ago' })),
  ]
    .filter((one) => has(String(one.value), value.text) && String(one.value) !== value.text)
    .map((one) => ({ start: value.start, text: `${valueText(type ?? '', one.value)} `, hint: one.hint }));
}

/** The end of the word that begins before the caret. */
function endOfWord(text: string, start: number, caret: number): number {
  const word = /^(?:"(?:[^"\\]|\\.)*"?|[^\s"<>=!(),]*)/.exec(text.slice(start))?.[0] ?? '';
  const rest = /^[^\s"<>=!(),]*/.exec(text.slice(caret))?.[0] ?? '';
  return Math.max(caret, start + word.length, caret + rest.length);
}
