import { z } from 'zod';

const pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;

// The range of a DateTime64 of ClickHouse.
const FIRST_MS = Date.UTC(1900, 0, 1);
const LAST_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999);

const FIRST = '1900-01-01T00:00:00.000000Z';
const LAST = '2299-12-31T23:59:59.999999Z';
const inCanonicalForm = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;
/** A day that there is: thousands of times in a row share theirs. */
let knownDay = 'none';

/**
 * The one form in which times travel and are compared as text: `2026-07-07T15:55:01.110554Z`. Takes any offset; without one UTC is meant.
 * Undefined when the text is no time or the year is outside 1900 to 2299. Digits below a microsecond are cut.
 */
export function canonicalTime(text: string): string | undefined {
  if (text.startsWith(knownDay) && inCanonicalForm.test(text)) return text;
  const instant = instantOf(text);
  if (!instant || instant.ms < FIRST_MS || instant.ms > LAST_MS) return undefined;
  const time = `${new Date(instant.ms).toISOString().slice(0, 19)}.${instant.micros}Z`;
  knownDay = time.slice(0, 10);
  return time;
}

/** As `canonicalTime`, but for times outside those years, which become the first or the last one: what a time is compared with may lie anywhere. */
function boundedTime(text: string): string | undefined {
  const instant = instantOf(text);
  if (!instant) return undefined;
  return instant.ms < FIRST_MS ? FIRST : instant.ms > LAST_MS ? LAST : canonicalTime(text);
}

/** Milliseconds since 1970, the fraction of the second cut off, and that fraction as six digits. */
function instantOf(text: string): { ms: number; micros: string } | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', offset = 'Z'] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDay = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  const offsetMinutes = minutesOf(offset);
  if (!isDay || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59 || offsetMinutes === undefined) return undefined;
  const seconds = (Number(hour) * 60 + Number(minute) - offsetMinutes) * 60 + Number(second);
  return { ms: date.getTime() + seconds * 1000, micros: fraction.slice(0, 6).padEnd(6, '0') };
}

function minutesOf(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const digits = offset.replace(':', '');
  const [hours, minutes] = [Number(digits.slice(1, 3)), Number(digits.slice(3, 5) || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (digits.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Now, in the canonical form. */
export const timeOf = (date: Date): string => `${date.toISOString().slice(0, -1)}000Z`;

/** Microseconds since 1970 of a canonical time. */
export const microsOfTime = (canonical: string): bigint =>
  BigInt(Date.parse(`${canonical.slice(0, 19)}Z`)) * 1000n + BigInt(canonical.slice(20, 26));

/** The inverse of {@link microsOfTime}. */
export function timeOfMicros(micros: bigint): string {
  const seconds = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  const fraction = String(micros - seconds * 1_000_000n).padStart(6, '0');
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}.${fraction}Z`;
}

const timeRead = (read: (text: string) => string | undefined, range: string) =>
  z.string().transform((text, context) => {
    const time = read(text);
    if (time !== undefined) return time;
    const message = `not a date-time of ISO 8601${range}, such as 2026-07-07T15:55:01.110554Z`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

/** A time of a request, in the canonical form after parsing. */
export const RecordTime = timeRead(canonicalTime, ' between the years 1900 and 2299');

/** A time that others are compared with: any year, in the canonical form of the nearest time that a record may have. */
export const ComparedTime = timeRead(boundedTime, '');
