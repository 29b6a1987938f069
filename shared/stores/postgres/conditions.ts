import type { z } from 'zod';
import type { LogStreamFilter } from '../../wire/projects.ts';

/** Collects the values of one statement; `bind` returns the placeholder for a value in its text. */
export interface Binder {
  readonly values: unknown[];
  bind(value: unknown, type: 'text' | 'text[]' | 'uuid' | 'uuid[]' | 'boolean' | 'float8' | 'float8[]' | 'int8'): string;
}

export function createBinder(): Binder {
  const values: unknown[] = [];
  return { values, bind: (value, type) => `$${values.push(value)}::${type}` };
}

type Bind = Binder['bind'];
type TextOperator = 'eq' | 'ne' | 'contains' | 'one_of' | 'not_in';
const comparisonSql = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
type Comparison = keyof typeof comparisonSql;

/** Stands in for ı, which folds to itself, on the way through upper case, which would make an i of it. No name has this private character. */
const IN_PLACE_OF_DOTLESS_I = "U&'\\E000'";

/**
 * Folds a text in SQL as `foldCase` (identifiers/foldCase.ts) does. `casefold` does the same from Postgres 18 on. The collation is named because lower and
 * upper follow that of the database otherwise, and under C know no letters beyond ASCII.
 */
function foldedSql(text: string): string {
  const lowered = `translate(lower(${text} COLLATE "und-x-icu"), 'ı', ${IN_PLACE_OF_DOTLESS_I})`;
  return `translate(lower(upper(${lowered})), 'ς' || ${IN_PLACE_OF_DOTLESS_I}, 'σı')`;
}

/** A condition on `column`, an expression of type text that is never null. A list matches any of its values, whichever operator carries it. */
export function textCondition(
  column: string,
  { operator, value, caseSensitive }: { operator: TextOperator; value: string | readonly string[]; caseSensitive: boolean },
  bind: Bind,
): string {
  const fold = (text: string) => (caseSensitive ? text : foldedSql(text));
  const wanted = `unnest(${bind(typeof value === 'string' ? [value] : value, 'text[]')}) v`;
  // The parts are folded once, the column for each row.
  if (operator === 'contains')
    return `EXISTS (SELECT 1 FROM (SELECT ${fold(column)} AS folded OFFSET 0) c, unnest((SELECT array_agg(${fold('v')}) FROM ${wanted})) part WHERE strpos(c.folded, part) > 0)`;
  const listed = `${fold(column)} IN (SELECT ${fold('v')} FROM ${wanted})`;
  return operator === 'ne' || operator === 'not_in' ? `NOT ${listed}` : listed;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A condition on a uuid `column`; `contains` looks into its text. What is no uuid equals none. */
export const idCondition = (
  column: string,
  leaf: { operator: TextOperator; value: string | readonly string[] },
  bind: Bind,
): string => {
  const value = [leaf.value].flat().map((text) => text.toLowerCase());
  if (leaf.operator === 'contains') return textCondition(`${column}::text`, { ...leaf, value, caseSensitive: true }, bind);
  const listed = `${column} = ANY (${bind(
    value.filter((text) => UUID.test(text)),
    'uuid[]',
  )})`;
  return leaf.operator === 'ne' || leaf.operator === 'not_in' ? `NOT ${listed}` : listed;
};

/** A condition on a timestamptz `column`, to the millisecond that is stored. */
export function timeCondition(column: string, { operator, value }: { operator: Comparison; value: string }, bind: Bind): string {
  return `${column} ${comparisonSql[operator]} to_timestamp(${bind(Date.parse(value), 'float8')} / 1000)`;
}

/** A condition on a number. A list of `eq` matches any of its values, that of `ne` none; a column without a value fits neither. */
export function numberCondition(
  column: string,
  { operator, value }: { operator: Comparison | 'between'; value: number | readonly number[] },
  bind: Bind,
): string {
  const values = typeof value === 'number' ? [value] : value;
  if (operator === 'eq') return `${column} = ANY (${bind(values, 'float8[]')})`;
  if (operator === 'ne') return `(${column} IS NOT NULL AND ${column} <> ALL (${bind(values, 'float8[]')}))`;
  const [first = 0, last = 0] = values;
  if (operator === 'between') return `${column} BETWEEN ${bind(first, 'float8')} AND ${bind(last, 'float8')}`;
  return `${column} ${comparisonSql[operator]} ${bind(first, 'float8')}`;
}

/** A condition on a column that every run has; `r` is the table of runs. */
export function runCondition(filter: z.output<typeof LogStreamFilter>, bind: Bind): string {
  switch (filter.name) {
    case 'id':
      return idCondition('r.id', filter, bind);
    case 'created_by':
      return idCondition('r.created_by', filter, bind);
    case 'name':
      return textCondition('r.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'created_at':
      return timeCondition('r.created_at', filter, bind);
    case 'updated_at':
      return timeCondition('r.updated_at', filter, bind);
    default:
      return filter satisfies never;
  }
}

/**
 * A condition: `sql`, which goes on after `SELECT`, finds a row. Postgres looks it up for each row of a list, where for `EXISTS` and `IN` it may read all
 * that could be found beforehand.
 */
export const looksUp = (sql: string): string => `(SELECT true ${sql} LIMIT 1) IS NOT NULL`;

/** `WHERE` of conditions that must all hold. */
export const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

/** The conditions of filters: `within` of those for which there is an index, as for an id and a whole name, and the others. */
export function conditionsOf<F extends { name: string; operator?: string; case_sensitive?: boolean }>(
  filters: readonly F[],
  condition: (filter: F) => string,
): { within: string[]; conditions: string[] } {
  const [within, conditions]: [string[], string[]] = [[], []];
  for (const filter of filters) {
    const isWhole = filter.operator === 'eq' || filter.operator === 'one_of';
    const hasIndex = filter.name === 'id' || (filter.name === 'name' && filter.case_sensitive === true);
    (isWhole && hasIndex ? within : conditions).push(condition(filter));
  }
  return { within, conditions };
}
