import { isExact } from './exactNumber.ts';

const decimal = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/;

/** A number, or what a text says that is one, as a double; NaN for anything else. */
export const numberOf = (value: unknown): number =>
  typeof value === 'number' || isExact(value) || (typeof value === 'string' && decimal.test(value)) ? Number(value) : Number.NaN;
