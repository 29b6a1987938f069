import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import type { MetricAggregates } from '../../shared/metrics/aggregate.ts';
import { aggregate } from '../../shared/metrics/aggregate.ts';
import { figureInterval } from '../../shared/metrics/figureInterval.ts';
import { studentQuantile } from '../../shared/statistics/studentQuantile.ts';

const deviationOf = (values: readonly number[]): number | null => {
  if (values.length < 2) return null;
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return Math.sqrt(values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1));
};
const summed = (values: readonly (number | boolean)[]): MetricAggregates => ({
  ...aggregate([...values]),
  deviation: deviationOf(values.map(Number)),
});
const of = (values: readonly (number | boolean)[], more: object = {}) =>
  figureInterval({
    ...{ aggregates: summed(values), rollUp: undefined, rows: values.length, trials: undefined, range: null },
    ...more,
  });
const repeated = <T>(value: T, times: number): T[] => new Array<T>(times).fill(value);

describe('the interval of a figure', () => {
  // Values from printed tables of Student's distribution, two-sided 95 %.
  test.each([
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [4, 2.776],
    [5, 2.571],
    [10, 2.228],
    [30, 2.042],
    [1_000, 1.962],
  ])('quantiles of Student with %i degrees of freedom are those of the tables', (degrees, expected) => {
    expect(studentQuantile(0.975, degrees) / expected).toBeCloseTo(1, 2);
    expect(studentQuantile(0.025, degrees)).toBeCloseTo(-studentQuantile(0.975, degrees), 9);
  });

  test("of a share is Wilson's: 15 of 20 lie between 53.1 % and 88.8 %", () => {
    const share = [...repeated(true, 15), ...repeated(false, 5)];
    expect(of(share)).toEqual({ low: expect.closeTo(0.5313, 4), high: expect.closeTo(0.8881, 4) });
    // Values that are all 0 or 1 are a share as well.
    expect(of(share.map(Number))).toEqual(of(share));
    expect(of(share, { rollUp: 'percentage_false' })).toEqual({
      low: expect.closeTo(0.1119, 4),
      high: expect.closeTo(0.4687, 4),
    });
  });

  test('of rows that are all right is not one point', () => {
    expect(of(repeated(true, 10))).toEqual({ low: expect.closeTo(0.7225, 4), high: 1 });
    expect(of(repeated(0, 10))).toEqual({ low: 0, high: expect.closeTo(0.2775, 4) });
  });

  test("of other means is Student's, within the range of the metric", () => {
    expect(of([1, 2, 3, 4, 5])).toEqual({ low: expect.closeTo(1.0368, 2), high: expect.closeTo(4.9632, 2) });
    const range = { min: 1, max: 4.5 };
    expect(of([1, 2, 3, 4, 5], { range })).toEqual({ low: expect.closeTo(1.0368, 2), high: 4.5 });
  });

  test('of several trials is over the rows', () => {
    const trials = { rows: 4, mean: 0.5, spread: 0.1, agreement: 1, deviation: 0.2 };
    const interval = of([0.4, 0.5, 0.6, 0.5, 0.4, 0.5, 0.6, 0.5], { rows: 8, trials });
    expect(interval).toEqual({ low: expect.closeTo(0.5 - 0.1 * 3.182, 2), high: expect.closeTo(0.5 + 0.1 * 3.182, 2) });
  });

  test('is unknown of one value, of values that depend on each other, of what is no mean, and of sums without a deviation', () => {
    expect(of([1])).toBeNull();
    expect(of([1, 2, 3], { rows: 2 })).toBeNull();
    expect(of([1, 2, 3], { rollUp: 'max' })).toBeNull();
    expect(of(['calm', 'calm'] as unknown as number[])).toBeNull();
    expect(of([1, 2, 3], { aggregates: aggregate([1, 2, 3]) })).toBeNull();
  });

  test.prop([fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 40 })])(
    'holds the figure',
    (values) => {
      const interval = of(values);
      const { avg } = summed(values);
      expect(interval?.low).toBeLessThanOrEqual(avg as number);
      expect(interval?.high).toBeGreaterThanOrEqual(avg as number);
    },
  );
});
