import { isExact } from './exactNumber.ts';

/** Levels of a value that are written where it nests deeper than can be written. */
const WRITTEN_DEPTH = 64;

/** Any value as text: a text as it is, everything else as JSON; what JSON cannot hold by its name. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (err) {
    // Nested too deep for the stack. Of a value that refers to itself, or has a method that throws, nothing can be said.
    return err instanceof RangeError ? JSON.stringify(cutValue(value, 1)) : 'a value that is no JSON';
  }
}

function cutValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || isExact(value)) return value;
  if (depth > WRITTEN_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((one) => cutValue(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutValue(one, depth + 1)]));
}
