import type { LeasedRow } from './hostedRow.ts';

/** Whether a leased row is this record. The service keeps what is no cell kind as its JSON text, so values are compared by what they stand for. */
export function isRowOf(row: LeasedRow, record: Record<string, unknown> | undefined): boolean {
  if (!record) return false;
  // Most values are the same text, and to find out that a text is no JSON takes 10 µs.
  return Object.entries(record).every(
    ([column, value]) => value === row.values[column] || meaning(value) === meaning(row.values[column]),
  );
}

/** A value as its JSON with sorted keys, or that of the JSON text that it is: equal where two stand for the same. */
export function meaning(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value !== 'string') return JSON.stringify(value, sortedKeys);
  try {
    return JSON.stringify(JSON.parse(value), sortedKeys);
  } catch {
    return JSON.stringify(value);
  }
}

const sortedKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
