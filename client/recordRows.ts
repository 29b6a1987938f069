import { parseWithBigInts } from '../shared/wire/longNumbers.ts';
import type { LeasedRow } from './hostedRow.ts';

/** True when the leased row is this record. The service stores a value that is no cell kind as its JSON text, so values are compared by their meaning. */
export function isRowOf(row: LeasedRow, record: Record<string, unknown> | undefined): boolean {
  if (!record) return false;
  // Most values are the same text, and to find out that a text is no JSON takes 10 µs.
  return Object.entries(record).every(([column, value]) => {
    const stored = row.values[column];
    return value === stored || meaning(value) === meaning(stored);
  });
}

/** Returns the JSON of a value with sorted keys, or that of a JSON text: equal where two values mean the same. */
export function meaning(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value !== 'string') return JSON.stringify(value, canonical) ?? 'null';
  // To parse it would round it.
  if (/^-?\d{16,}$/.test(value)) return JSON.stringify(value);
  try {
    return JSON.stringify(parseWithBigInts(value), canonical);
  } catch {
    return JSON.stringify(value.toWellFormed());
  }
}

/** Sorts keys, and writes what the service changes as it stores it: half a character becomes U+FFFD, an integer that a number may have rounded may be text. */
function canonical(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  // As JSON writes it: large ones with an exponent are numbers to the service, too.
  if (typeof value === 'number') return Number.isSafeInteger(value) || !/^-?\d+$/.test(String(value)) ? value : String(value);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}
