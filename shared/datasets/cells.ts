import { type ExactNumber, isExact } from '../wire/exactNumber.ts';
import type { Cell } from './dataset.ts';

/**
 * Returns what a cell stores: texts, numbers, null and flat objects as they are; anything else as its JSON text. A number that the store cannot read
 * again, such as one of 25 digits or beyond 1.8e308, is the text of its digits.
 */
export function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (isPlain(value)) return plainCell(value);
  if (!isFlatObject(value)) return JSON.stringify(value) ?? null;
  const inner = Object.values(value);
  return inner.every((one) => one === plainCell(one))
    ? value
    : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainCell(one)]));
}

type Plain = string | number | ExactNumber | null;

const isPlain = (value: unknown): value is Plain =>
  value === null || typeof value === 'string' || typeof value === 'number' || isExact(value);

function isFlatObject(value: unknown): value is Record<string, Plain> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isPlain);
}

const plainCell = (value: Plain): Plain =>
  value === null || typeof value === 'string' || isReadable(value) ? value : String(value);

/** The store reads whole numbers of 64 bits, and doubles. */
function isReadable(value: number | ExactNumber): boolean {
  const text = JSON.stringify(value);
  if (typeof value === 'number' && (Number.isSafeInteger(value) || !/^-?\d+$/.test(text))) return Number.isFinite(value);
  if (!/^-?\d{1,20}$/.test(text)) return false;
  const whole = BigInt(text);
  return whole >= -(2n ** 63n) && whole < 2n ** 64n;
}

/** The text of a cell: null is empty, an object is JSON text. */
export function cellText(cell: Cell | boolean): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? cell : JSON.stringify(cell);
}
