import { usageError } from '../commandError.ts';

/** A leaf of a search's filter. */
export type Leaf = Record<string, unknown>;
/** What a search takes as one of its filters. */
export type Filter = Leaf | { and: Filter[] } | { or: Filter[] } | { not: Filter };

/** A column as far as a condition on it depends on it. */
export interface FilterColumn {
  id: string;
  filter_type?: string | undefined;
  /** The name of the scorer that computes a metric, where the id holds the scorer's id; or the other way round. */
  metric_key_alias?: string | undefined;
}

export interface Condition {
  column: string;
  operator: Operator;
  value: string;
}

const operators = {
  '=': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
  contains: 'contains',
  in: 'one_of',
  'not in': 'not_in',
} as const;
type Operator = keyof typeof operators;

/** Which operators a filter of each type takes: those of a search, in the same words or as the signs of arithmetic. */
const operatorsOf: Readonly<Record<string, readonly Operator[]>> = {
  text: ['=', '!=', 'contains', 'in', 'not in'],
  id: ['=', '!=', 'contains', 'in', 'not in'],
  collection: ['=', 'contains', 'in', 'not in'],
  number: ['=', '!=', '<', '<=', '>', '>='],
  date: ['=', '!=', '<', '<=', '>', '>='],
  boolean: ['=', '!='],
};

/** A column, an operator and a value. A name that holds an operator stands in quotes. */
const form = /^\s*(?:"((?:[^"\\]|\\.)+)"|([^"].*?))\s*(<=|>=|!=|=|<|>|(?<=\s|")(?:contains|not\s+in|in)(?=\s))\s*(.*?)\s*$/is;

/** @throws CommandError for what is no condition */
export function conditionOf(text: string): Condition {
  const [, quotedName, name, sign, value] = form.exec(text) ?? [];
  const column = (quotedName ? (JSON.parse(`"${quotedName}"`) as string) : name)?.trim();
  if (!column || !sign || !value)
    throw usageError(
      `${JSON.stringify(text)} is no condition: write a column, one of ${Object.keys(operators).join(' ')}, and a value, as in 'status_code = 500'`,
    );
  return { column, operator: sign.toLowerCase().replace(/\s+/, ' ') as Operator, value };
}

/**
 * The condition as a search takes it.
 * @throws CommandError for an operator that this column does not have, or a value that is none of its kind
 */
export function leafOf(
  { operator, value }: Condition,
  { id: column, filter_type: type }: FilterColumn,
  ignoreCase: boolean,
): Leaf {
  const known = type === undefined ? undefined : operatorsOf[type];
  if (!known) throw usageError(`${column} cannot be filtered by`);
  if (!known.includes(operator))
    throw usageError(`${column} is a ${type} column: it takes ${known.join(' ')}, and not ${operator}`);
  const isText = type === 'text' || type === 'collection';
  return {
    type,
    column_id: column,
    operator: operators[operator],
    value: comparedWith(column, type as string, operator, value),
    ...(isText && ignoreCase ? { case_sensitive: false } : {}),
  };
}

function comparedWith(column: string, type: string, operator: Operator, text: string): unknown {
  if (operator === 'in' || operator === 'not in') return textsOf(text);
  const value = unquoted(text);
  if (type === 'number') {
    if (value === 'true' || value === 'false') return Number(value === 'true');
    if (Number.isFinite(Number(value))) return Number(value);
    throw usageError(`${column} is a number column, and ${JSON.stringify(value)} is no number`);
  }
  if (type === 'date') return timeOf(value, column);
  if (type !== 'boolean') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw usageError(`${column} is true or false, and not ${JSON.stringify(value)}`);
}

/** Texts between commas; one that holds a comma stands in quotes. */
const textsOf = (list: string): string[] =>
  [...list.matchAll(/\s*("(?:[^"\\]|\\.)*"|[^,]+)\s*(?:,|$)/g)].map(([, text = '']) => unquoted(text.trim()));

/** A value as it was meant: one in quotes is read as JSON reads it. */
export function unquoted(text: string): string {
  if (!/^".*"$/s.test(text)) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text;
  }
}

const units = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;

/**
 * A moment: `15m`, `2h`, `3d` or `1w` ago, or a date or time, in UTC where it names no offset.
 * @throws CommandError for what is neither
 */
export function timeOf(text: string, what: string, now: Date = new Date()): string {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  if (count && unit) return new Date(now.getTime() - Number(count) * units[unit as keyof typeof units] * 1_000).toISOString();
  const hasOffset = /(?:Z|[+-]\d\d:?\d\d)$/i.test(text);
  const isDate = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i.test(text);
  const asWritten = text.replace(' ', 'T');
  const time = isDate ? (text.length === 10 || hasOffset ? asWritten : `${asWritten}Z`) : '';
  if (Number.isNaN(Date.parse(time)))
    throw usageError(
      `${what} takes 15m, 2h, 3d or 1w (ago), or a time as in 2026-01-31T08:00:00Z, and not ${JSON.stringify(text)}`,
    );
  return time.length === 10 ? `${time}T00:00:00Z` : time;
}
