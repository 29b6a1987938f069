/** Collects the values of one statement; `bind` gives the placeholder that stands for a value in its text. */
export interface Binder {
  readonly values: unknown[];
  bind(value: unknown, type: 'text' | 'text[]' | 'uuid' | 'uuid[]' | 'boolean' | 'float8' | 'int8'): string;
}

export function createBinder(): Binder {
  const values: unknown[] = [];
  return { values, bind: (value, type) => `$${values.push(value)}::${type}` };
}

type Bind = Binder['bind'];
type TextOperator = 'eq' | 'ne' | 'contains' | 'one_of' | 'not_in';
const comparisonSql = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
type Comparison = keyof typeof comparisonSql;

/** A condition on `column`, an expression of type text that is never null. A single value of `one_of` and `not_in` counts as a list of one. */
export function textCondition(
  column: string,
  { operator, value, caseSensitive }: { operator: TextOperator; value: string | readonly string[]; caseSensitive: boolean },
  bind: Bind,
): string {
  const fold = (text: string) => (caseSensitive ? text : `lower(${text})`);
  const values = typeof value === 'string' ? [value] : value;
  if (operator === 'contains') return `strpos(${fold(column)}, ${fold(bind(values[0] ?? '', 'text'))}) > 0`;
  const listed = `${fold(column)} IN (SELECT ${fold('v')} FROM unnest(${bind(values, 'text[]')}) v)`;
  return operator === 'ne' || operator === 'not_in' ? `NOT ${listed}` : listed;
}

/** A condition on a uuid `column`; `contains` looks into its text. */
export const idCondition = (
  column: string,
  leaf: { operator: TextOperator; value: string | readonly string[] },
  bind: Bind,
): string => textCondition(`${column}::text`, { ...leaf, caseSensitive: false }, bind);

/** A condition on a timestamptz `column`, to the millisecond that is stored. */
export function timeCondition(column: string, { operator, value }: { operator: Comparison; value: string }, bind: Bind): string {
  return `${column} ${comparisonSql[operator]} to_timestamp(${bind(Date.parse(value), 'float8')} / 1000)`;
}

export function numberCondition(
  column: string,
  { operator, value }: { operator: Comparison | 'between'; value: number | readonly number[] },
  bind: Bind,
): string {
  const [first = 0, last = 0] = typeof value === 'number' ? [value] : value;
  if (operator === 'between') return `${column} BETWEEN ${bind(first, 'float8')} AND ${bind(last, 'float8')}`;
  return `${column} ${comparisonSql[operator]} ${bind(first, 'float8')}`;
}

/** `WHERE` of conditions that must all hold. */
export const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
