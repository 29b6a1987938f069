export const lowerCase = (value: string | string[]) =>
  Array.isArray(value) ? value.map((one) => one.toLowerCase()) : value.toLowerCase();

export type TextOperator = 'eq' | 'ne' | 'contains' | 'one_of' | 'not_in';

/** One comparison of a text column. `column` is our own SQL, never a caller's. */
export function textSql(
  column: string,
  operator: TextOperator,
  value: string | string[],
  bind: (value: unknown) => string,
): string {
  switch (operator) {
    case 'eq':
      return `${column} = ${bind(value)}`;
    case 'ne':
      return `${column} <> ${bind(value)}`;
    case 'contains':
      return `strpos(${column}, ${bind(value)}) > 0`;
    case 'one_of':
      return `${column} = ANY(${bind(value)}::text[])`;
    case 'not_in':
      return `${column} <> ALL(${bind(value)}::text[])`;
    default:
      return operator satisfies never;
  }
}

/** A filter of names, which may say that case counts. `column` is our own SQL. */
export const nameSql = (
  column: string,
  filter: { operator: TextOperator; value: string | string[]; case_sensitive: boolean },
  bind: (value: unknown) => string,
): string =>
  filter.case_sensitive
    ? textSql(column, filter.operator, filter.value, bind)
    : textSql(`lower(${column})`, filter.operator, lowerCase(filter.value), bind);
