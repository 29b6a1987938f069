import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { cohensKappa, equalOnly, quadratic } from '../../shared/statistics/cohensKappa.ts';

const tables = fc
  .integer({ min: 1, max: 5 })
  .chain((size) => fc.array(fc.array(fc.nat(20), { minLength: size, maxLength: size }), { minLength: size, maxLength: size }));
const turned = (table: readonly (readonly number[])[]): number[][] =>
  table.map((_, row) => table.map((_row, column) => table[column]?.[row] ?? 0));
const weights = fc.constantFrom(equalOnly, quadratic);

/** Sides that have two categories at least. */
const isTold = (table: readonly (readonly number[])[]): boolean => {
  const used = (lines: readonly (readonly number[])[]) => lines.filter((line) => line.some((count) => count > 0)).length;
  return used(table) > 1 && used(turned(table)) > 1;
};

test.prop([tables, weights])('is the same when the sides change places', (table, weight) => {
  const [one, other] = [cohensKappa(table, weight), cohensKappa(turned(table), weight)];
  expect(other.kappa === null).toBe(one.kappa === null);
  if (one.kappa !== null) expect(other.kappa).toBeCloseTo(one.kappa, 12);
  if (one.standardError !== null) expect(other.standardError).toBeCloseTo(one.standardError, 10);
});

test.prop([fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 6 }), weights])(
  'is 1, and of no known error, where all pairs are equal',
  (counts, weight) => {
    const table = counts.map((count, row) => counts.map((_, column) => (row === column ? count : 0)));
    expect(cohensKappa(table, weight)).toMatchObject({ kappa: 1, observed: 1, standardError: null, interval: null });
  },
);

test.prop([tables, weights])('is null and not 0 where a side has one category alone; else it is in [-1, 1]', (table, weight) => {
  const { kappa, interval, observed, pairs } = cohensKappa(table, weight);
  expect(pairs).toBe(table.flat().reduce((sum, count) => sum + count, 0));
  expect(observed === null).toBe(pairs === 0);
  if (!isTold(table)) {
    expect(kappa).toBeNull();
    return;
  }
  expect(kappa).toBeGreaterThanOrEqual(-1 - 1e-12);
  expect(kappa).toBeLessThanOrEqual(1 + 1e-12);
  if (interval) expect(interval.low <= (kappa as number) && (kappa as number) <= interval.high).toBe(true);
});

test.prop([fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 }), fc.integer({ min: 1, max: 9 }), weights])(
  'is 0 where the sides are independent',
  (shares, times, weight) => {
    const table = shares.map((one) => shares.map((other) => one * other * times));
    expect(cohensKappa(table, weight).kappa).toBeCloseTo(0, 10);
  },
);

test.prop([tables])('with two categories weights change nothing', (table) => {
  const two = table.slice(0, 2).map((row) => row.slice(0, 2));
  if (two.length === 2) expect(cohensKappa(two, quadratic)).toEqual(cohensKappa(two, equalOnly));
});

describe('figures by hand', () => {
  test('two readers of 50 applications', () => {
    // Both say yes of 20, both no of 15: 0.7 observed. Yes is said of 25 and of 30: 0.5 · 0.6 + 0.5 · 0.4 = 0.5 expected. (0.7 − 0.5) / 0.5 = 0.4.
    const found = cohensKappa([
      [20, 5],
      [10, 15],
    ]);
    expect(found).toMatchObject({
      pairs: 50,
      observed: expect.closeTo(0.7, 12),
      expected: expect.closeTo(0.5, 12),
      kappa: expect.closeTo(0.4, 12),
    });
    // With the shares p of the cells and m of their margins, by 1 − κ = 0.6:
    // Σ p (w − m)²: 0.4 · 0.34² + 0.1 · 0.66² + 0.2 · 0.54² + 0.3 · 0.46² = 0.2116; less (0.4 − 0.5 · 0.6)² = 0.2016; / (50 · 0.5²) = 0.016128
    expect(found.standardError).toBeCloseTo(Math.sqrt(0.016128), 12);
    expect(found.interval?.low).toBeCloseTo(0.4 - 1.959963984540054 * Math.sqrt(0.016128), 10);
  });

  test('three grades, weighted by the square of their distance', () => {
    // Weights 1, 3/4, 0. Observed: (10 + 10 + 10 + 3/4 · (2 + 2) + 0 · 1) / 35 = 33/35.
    // Rows 12, 12, 11 of 35, columns 10, 12, 13: expected Σ w r c = (12 · (10 + 9) + 12 · (7.5 + 12 + 9.75) + 11 · (9 + 13)) / 35² = 821/1225.
    const found = cohensKappa(
      [
        [10, 1, 1],
        [0, 10, 2],
        [0, 1, 10],
      ],
      quadratic,
    );
    expect(found.observed).toBeCloseTo(33 / 35, 12);
    expect(found.expected).toBeCloseTo(821 / 1225, 12);
    expect(found.kappa).toBeCloseTo((33 / 35 - 821 / 1225) / (1 - 821 / 1225), 12);
  });
});
