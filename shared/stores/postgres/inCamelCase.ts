type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

const names = new Map<string, string>();

function camelCase(column: string): string {
  const known = names.get(column);
  if (known !== undefined) return known;
  const name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  names.set(column, name);
  return name;
}

/** Names the columns of a row as the domain does: `created_at` becomes `createdAt`. Values stay as they are. */
export const inCamelCase = <Row extends object>(row: Row): { [Column in keyof Row & string as CamelCase<Column>]: Row[Column] } =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [camelCase(column), value])) as never;
