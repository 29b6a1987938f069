import { isObject } from './mendFields.ts';

/**
 * Values in one field of a record. Each is checked by itself and, where it does not fit, named and mended by itself: that takes up to 15 microseconds of
 * one turn of the event loop, which a field of millions would hold for a minute. A list of 5,000 messages with calls has as many.
 */
const MAX_FIELD_VALUES = 50_000;

/** The fields of a record, but its spans, that hold more values than are looked at one by one. */
export const crowdedFields = (record: unknown): string[] =>
  isObject(record) ? Object.keys(record).filter((field) => field !== 'spans' && holdsMore(record[field])) : [];

/** Iterative, and ends at the bound: a value may nest as deep as its text is long. */
function holdsMore(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const open: object[] = [value];
  let count = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    for (const inner of Array.isArray(next) ? next : Object.values(next)) {
      if (++count > MAX_FIELD_VALUES) return true;
      if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
  return false;
}
