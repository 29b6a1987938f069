import type { Cell } from './dataset.ts';

/** Digits that a JSON number may lose in a double: long ones, and large exponents. */
const mayLoseDigits = /\d{16}|\d[eE]\+?\d{3}/;

/** JSON.parse, except that a whole number a double cannot hold exactly, or one beyond its range, stays as the text it was. */
export function parseJson(text: string): unknown {
  if (!mayLoseDigits.test(text)) return JSON.parse(text);
  return JSON.parse(text, ((_key: string, value: unknown, context: { source?: string }) => {
    if (typeof value !== 'number' || context.source === undefined) return value;
    const exact = Number.isFinite(value) && (!/^-?\d+$/.test(context.source) || Number.isSafeInteger(value));
    return exact ? value : context.source;
  }) as (this: unknown, key: string, value: unknown) => unknown);
}

/** What a cell stores for a value: texts, finite numbers, null and flat objects as they are; anything else as its JSON text. */
export function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (isFlatObject(value)) return value;
  return JSON.stringify(value) ?? null;
}

function isFlatObject(value: unknown): value is Record<string, string | number | null> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((inner) => inner === null || typeof inner === 'string' || Number.isFinite(inner));
}

/** The text of a cell: null is empty, an object is JSON text. */
export function cellText(cell: Cell | boolean): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? cell : JSON.stringify(cell);
}
