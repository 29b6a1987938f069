import { isObject } from '../wire/isObject.ts';

/**
 * Values that are looked at one by one in one field of a record, and in all large fields of a request whose records do not fit as they are. Each is
 * checked by itself and, where it does not fit, named and mended by itself, in one turn of the event loop. A list of 5,000 messages with calls has 50,000.
 */
const MAX_FIELD_VALUES = 50_000;
const MAX_MENDED_VALUES = 250_000;
/** Fields of so many values are looked at however much a request holds. */
const FEW_VALUES = 100;

/** The values in each field of a record, but its spans, that holds more than a few; counted up to one more than a field may have. */
export function fieldSizes(record: unknown): Map<string, number> {
  const sizes = new Map<string, number>();
  if (!isObject(record)) return sizes;
  for (const field of Object.keys(record)) {
    const size = field === 'spans' ? 0 : countValues(record[field]);
    if (size > FEW_VALUES) sizes.set(field, size);
  }
  return sizes;
}

export const isCrowded = (sizes: ReadonlyMap<string, number>): boolean =>
  sizes.size > 0 && [...sizes.values()].some((size) => size > MAX_FIELD_VALUES);

/** Bounds the fields that are looked at one by one while the records of one request are mended. */
export class FieldBudget {
  #left = MAX_MENDED_VALUES;

  /** The fields of a record that are to be taken as a whole; the others are counted. */
  crowded(sizes: ReadonlyMap<string, number>): string[] {
    return [...sizes].flatMap(([field, size]) => {
      if (size > MAX_FIELD_VALUES || size > this.#left) return [field];
      this.#left -= size;
      return [];
    });
  }
}

/** Values inside a value. Iterative: a value may nest as deep as its text is long. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const open: object[] = [value];
  let count = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    for (const inner of Array.isArray(next) ? next : Object.values(next)) {
      if (++count > MAX_FIELD_VALUES) return count;
      if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
  return count;
}
