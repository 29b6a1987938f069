import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { ComparedTime, canonicalTime } from '../../shared/wire/time.ts';

const seconds = fc.integer({ min: Date.UTC(1900, 0, 2) / 1000, max: Date.UTC(2299, 11, 30) / 1000 });
const micros = fc.nat({ max: 999_999 }).map((number) => String(number).padStart(6, '0'));
const minutes = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });
const isoAt = (second: number) => new Date(second * 1000).toISOString().slice(0, 19);

test.prop([seconds, micros, minutes, fc.constantFrom('T', ' ', 't'), fc.boolean()])(
  'a time with an offset is the same instant in the one form, which stays as it is',
  (second, fraction, offset, between, withColon) => {
    const sign = offset < 0 ? '-' : '+';
    const [hours, rest] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) => String(part).padStart(2, '0'));
    const local = isoAt(second + offset * 60).replace('T', between);
    const canonical = `${isoAt(second)}.${fraction}Z`;
    expect(canonicalTime(`${local}.${fraction}${sign}${hours}${withColon ? ':' : ''}${rest}`)).toBe(canonical);
    expect(canonicalTime(canonical)).toBe(canonical);
  },
);

test.each([
  '2026-02-30T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:60:00Z',
  '2026-01-01T00:00:00+99:99',
  '2026-01-01',
  'now',
])('%s is no time, right after its day or not', (text) => {
  for (const before of ['2026-01-01T00:00:00.000000Z', '2026-02-28T00:00:00.000000Z']) {
    expect(canonicalTime(before)).toBe(before);
    expect(canonicalTime(text)).toBeUndefined();
    expect(ComparedTime.safeParse(text).success).toBe(false);
  }
});

test('what a time is compared with may lie before and behind all that are stored', () => {
  const [first, last] = ['1900-01-01T00:00:00.000000Z', '2299-12-31T23:59:59.999999Z'];
  expect(['0001-01-01T00:00:00Z', '1899-12-31T23:59:59Z', first].map((text) => ComparedTime.parse(text))).toEqual([
    first,
    first,
    first,
  ]);
  expect(['9999-12-31T23:59:59.999999Z', '2300-01-01T00:00:00Z', last].map((text) => ComparedTime.parse(text))).toEqual([
    last,
    last,
    last,
  ]);
  expect(canonicalTime('0001-01-01T00:00:00Z')).toBeUndefined();
  expect(canonicalTime('9999-12-31T23:59:59Z')).toBeUndefined();
});
