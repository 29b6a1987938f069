import { meantName } from '../identifiers/closestNames.ts';
import { controlAppliesTo } from '../wire/controlAppliesTo.ts';
import {
  type Condition,
  type Expression,
  FilterTextError,
  type OperatorText,
  operators,
  parseExpression,
  type Word,
} from './filterSyntax.ts';

/** A leaf of a search's filter. */
export type Leaf = {
  type: string;
  column_id: string;
  operator: string;
  value: unknown;
  case_sensitive?: boolean;
};
/** The form of `filter_tree` in a search. */
export type FilterTree = { filter: Leaf } | { and: FilterTree[] } | { or: FilterTree[] } | { not: FilterTree };

/** A column as far as a condition on it depends on it: what the routes `available_columns` answer. */
export interface FilterColumn {
  id: string;
  filter_type?: string | null | undefined;
  /** The name of the scorer that computes a metric, where the id holds the scorer's id. */
  metric_key_alias?: string | null | undefined;
  allowed_values?: readonly string[] | null | undefined;
}

/** Operators that a filter of each type takes. */
export const operatorsOf: Readonly<Record<string, readonly OperatorText[]>> = {
  text: ['=', '!=', 'contains', 'in', 'not in'],
  id: ['=', '!=', 'contains', 'in', 'not in'],
  choice: ['=', '!=', 'in', 'not in'],
  collection: ['=', 'contains', 'in', 'not in'],
  number: ['=', '!=', '<', '<=', '>', '>='],
  date: ['=', '!=', '<', '<=', '>', '>='],
  boolean: ['=', '!='],
};

export interface FilterTextOptions {
  columns: readonly FilterColumn[];
  /** Compares texts by letters whatever their case. */
  ignoreCase?: boolean;
  /** The time from which `2h` (ago) counts. */
  now?: Date;
}

/**
 * The filter that a text means; undefined for an empty one.
 * @throws FilterTextError that names the place, and the column or value that may have been meant
 */
export function parseFilterText(text: string, options: FilterTextOptions): FilterTree | undefined {
  return text.trim() === '' ? undefined : filterTreeOf(parseExpression(text), options);
}

/** The filter of an expression that was read before its columns were known. Throws as {@link parseFilterText}. */
export function filterTreeOf(expression: Expression, options: FilterTextOptions): FilterTree {
  if ('and' in expression) return { and: expression.and.map((one) => filterTreeOf(one, options)) };
  if ('or' in expression) return { or: expression.or.map((one) => filterTreeOf(one, options)) };
  if ('not' in expression) return { not: filterTreeOf(expression.not, options) };
  return { filter: leafOf(expression.condition, options) };
}

function leafOf(condition: Condition, { columns, ignoreCase = false, now = new Date() }: FilterTextOptions): Leaf {
  const { operator, operatorPlace, values } = condition;
  const column = columnOf(condition, columns);
  const type = column.filter_type ?? undefined;
  const known = type === undefined ? undefined : operatorsOf[type];
  if (type === undefined || !known) throw new FilterTextError(`${column.id} cannot be filtered by`, condition.column);
  if (!known.includes(operator))
    throw new FilterTextError(
      `${column.id} is a ${type} column: it takes ${known.join(' ')}, and not ${operator}`,
      operatorPlace,
    );
  for (const value of values) checkAllowed(column, value, operator);
  const isText = type === 'text' || type === 'collection';
  return {
    type,
    column_id: column.id,
    operator: operators[operator],
    value:
      operator === 'in' || operator === 'not in'
        ? values.map(({ text }) => text)
        : readValue(column.id, type, values[0] as Word, now),
    ...(isText && ignoreCase ? { case_sensitive: false } : {}),
  };
}

/** Keys of the two maps are no columns of a catalog, and neither are metrics that have no value yet. */
function columnOf({ column: word, values }: Condition, columns: readonly FilterColumn[]): FilterColumn {
  const found = columns.find(({ id }) => id === word.text) ?? onlyMetric(word, columns);
  if (found) return found;
  if (/^(?:user|dataset)_metadata\/./.test(word.text)) return { id: word.text, filter_type: 'text' };
  if (/^metrics\/./.test(word.text)) return { id: word.text, filter_type: typeOfValue(values[0] as Word) };
  const ids = columns.map(({ id }) => id);
  const meant = meantName(word.text, ids);
  const instead = meant === undefined ? `, but ${ids.join(', ')}` : `; the closest is ${meant}`;
  throw new FilterTextError(`there is no column ${JSON.stringify(word.text)} here${instead}`, word);
}

function onlyMetric(word: Word, columns: readonly FilterColumn[]): FilterColumn | undefined {
  const called = columns.filter(({ metric_key_alias: name }) => name != null && word.text === `metrics/${name}`);
  if (called.length < 2) return called[0];
  throw new FilterTextError(`${word.text} names several metrics: take one of ${called.map(({ id }) => id).join(', ')}`, word);
}

const typeOfValue = ({ text, isQuoted }: Word): string =>
  isQuoted ? 'text' : text === 'true' || text === 'false' ? 'boolean' : Number.isFinite(Number(text)) ? 'number' : 'text';

/** A part of a value may be looked for; a whole one must be one that there is. */
function checkAllowed({ id, allowed_values: listed }: FilterColumn, value: Word, operator: OperatorText): void {
  if (!listed || listed.length === 0 || operator === 'contains') return;
  const allowed: readonly string[] = id === 'applies_to' ? controlAppliesTo : listed;
  if (allowed.includes(value.text)) return;
  const meant = meantName(value.text, allowed);
  throw new FilterTextError(
    `${id} is one of ${allowed.join(', ')}${meant === undefined ? '' : `; the closest is ${meant}`}`,
    value,
  );
}

function readValue(column: string, type: string, value: Word, now: Date): unknown {
  const { text } = value;
  if (type === 'number') {
    if (text === 'true' || text === 'false') return Number(text === 'true');
    if (text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
    throw new FilterTextError(`${column} is a number, and ${JSON.stringify(text)} is none`, value);
  }
  if (type === 'date') {
    const time = timeOf(text, now);
    if (time !== undefined) return time;
    throw new FilterTextError(
      `${column} takes 15m, 2h, 3d or 1w (ago), or a time as in 2026-01-31T08:00:00Z, and not ${JSON.stringify(text)}`,
      value,
    );
  }
  if (type !== 'boolean') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new FilterTextError(`${column} is true or false, and not ${JSON.stringify(text)}`, value);
}

const units = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;

/** A moment: `15m`, `2h`, `3d` or `1w` ago, or a date or time, in UTC where it names no offset. Undefined for what is neither. */
export function timeOf(text: string, now: Date): string | undefined {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  if (count && unit) return new Date(now.getTime() - Number(count) * units[unit as keyof typeof units] * 1_000).toISOString();
  const hasOffset = /(?:Z|[+-]\d\d:?\d\d)$/i.test(text);
  const isDate = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i.test(text);
  const asWritten = text.replace(' ', 'T');
  const time = isDate ? (text.length === 10 || hasOffset ? asWritten : `${asWritten}Z`) : '';
  if (Number.isNaN(Date.parse(time))) return undefined;
  return time.length === 10 ? `${time}T00:00:00Z` : time;
}
