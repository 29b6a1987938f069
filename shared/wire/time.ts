import { z } from 'zod';

const pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;

// What a DateTime64 of ClickHouse holds.
const FIRST_MS = Date.UTC(1900, 0, 1);
const LAST_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999);

/**
 * The one form in which times travel and are compared as text: `2026-07-07T15:55:01.110554Z`. Takes any offset; without one UTC is meant.
 * Undefined when the text is no time or the year is outside 1900 to 2299. Digits below a microsecond are cut.
 */
export function canonicalTime(text: string): string | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', offset = 'Z'] = match;
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const check = new Date(local);
  const sameDay =
    check.getUTCFullYear() === Number(year) && check.getUTCMonth() === Number(month) - 1 && check.getUTCDate() === Number(day);
  if (!sameDay || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const ms = local - offsetMs(offset);
  if (ms < FIRST_MS || ms > LAST_MS) return undefined;
  return `${new Date(ms).toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

function offsetMs(offset: string): number {
  if (offset === 'Z' || offset === 'z') return 0;
  const digits = offset.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3, 5) || 0);
  return (digits.startsWith('-') ? -1 : 1) * minutes * 60_000;
}

/** Now, in the canonical form. */
export const timeOf = (date: Date): string => `${date.toISOString().slice(0, -1)}000Z`;

/** A time of a request, in the canonical form after parsing. */
export const RecordTime = z.string().transform((text, context) => {
  const time = canonicalTime(text);
  if (time !== undefined) return time;
  context.addIssue({
    code: 'custom',
    message: 'not a date-time of ISO 8601 between the years 1900 and 2299, such as 2026-07-07T15:55:01.110554Z',
  });
  return z.NEVER;
});
