/** Reads a text of an address. The router reads `q=12` as a number. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

/** Reads texts of an address, each once. One that somebody wrote without brackets is one, too. */
export function texts(value: unknown): string[] | undefined {
  const all = [...new Set((Array.isArray(value) ? value : [value]).flatMap((one) => text(one) ?? []))];
  return all.length > 0 ? all : undefined;
}

/** Leaves out what is undefined, an empty text or an empty list: an address says nothing of it. */
export const withoutEmpty = <T extends object>(address: T): T =>
  Object.fromEntries(
    Object.entries(address).filter(
      ([, value]) => value !== undefined && !((typeof value === 'string' || Array.isArray(value)) && value.length === 0),
    ),
  ) as T;
