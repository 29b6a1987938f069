import { operatorsOf } from '../../../shared/filterText/parseFilterText.ts';
import type { Column } from '../data/records.ts';

/** What may come next where the caret is. */
export interface Completion {
  /** Replaces the text from `start` to the caret. */
  start: number;
  options: { text: string; hint: string }[];
}

const MOST = 12;

/** The condition that is being written before the caret: its column, its operator and value, as far as they are there. */
const writing =
  /(?:^|[\s(])(?:"[^"]*"|[^\s()=<>!"]*)$|(?:^|[\s(])("[^"]*"|[^\s()=<>!"]+)\s+(=|!=|<|<=|>|>=|contains|in|not in)\s+("?[^()"]*)$|(?:^|[\s(])("[^"]*"|[^\s()=<>!"]+)\s+([a-z<>=! ]*)$/i;

export function completionOf(text: string, caret: number, columns: readonly Column[]): Completion {
  const before = text.slice(0, caret);
  const [, valueColumn, , value, operatorColumn, operator] = writing.exec(before) ?? [];
  if (valueColumn !== undefined && value !== undefined) return valuesOf(columnOf(valueColumn, columns), value, caret);
  const column = operatorColumn === undefined ? undefined : columnOf(operatorColumn, columns);
  if (column && operator !== undefined) return operatorsFor(column, operator, caret);
  const word = /[^\s(]*$/.exec(before)?.[0] ?? '';
  return { start: caret - word.length, options: [...columnsLike(word, columns), ...joinsAfter(before, word)].slice(0, MOST) };
}

const columnOf = (written: string, columns: readonly Column[]): Column | undefined =>
  columns.find(({ id }) => id === written.replaceAll('"', ''));

const columnsLike = (word: string, columns: readonly Column[]) =>
  columns
    .filter(
      ({ id, label, filterable }) => filterable && [id, label].some((name) => name.toLowerCase().includes(word.toLowerCase())),
    )
    .map(({ id, label, filter_type }) => ({
      text: `${/[\s()=<>!",]/.test(id) ? JSON.stringify(id) : id} `,
      hint: `${label}, ${filter_type}`,
    }));

const joinsAfter = (before: string, word: string) =>
  before.trim() === word
    ? []
    : ['and', 'or', 'not']
        .filter((one) => one.startsWith(word.toLowerCase()))
        .map((one) => ({ text: `${one} `, hint: 'joins conditions' }));

const operatorsFor = ({ filter_type }: Column, written: string, caret: number): Completion => ({
  start: caret - written.length,
  options: (operatorsOf[filter_type ?? ''] ?? [])
    .filter((sign) => sign.startsWith(written.trim().toLowerCase()))
    .map((sign) => ({ text: `${sign} `, hint: 'compares' })),
});

function valuesOf(column: Column | undefined, value: string, caret: number): Completion {
  const allowed = column?.filter_type === 'boolean' ? ['true', 'false'] : (column?.allowed_values ?? []).map(String);
  const times = column?.filter_type === 'date' ? ['15m', '1h', '1d', '7d'] : [];
  const last = /[^,]*$/.exec(value)?.[0].trimStart() ?? '';
  return {
    start: caret - last.length,
    options: [...allowed, ...times]
      .filter((one) => one.startsWith(last) && one !== last)
      .slice(0, MOST)
      .map((one) => ({ text: `${one} `, hint: times.includes(one) ? 'ago' : (column?.label ?? '') })),
  };
}
