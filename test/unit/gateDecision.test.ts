import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { type ComparedChange, decideDrop, decideLimit, decideScored, worstStatus } from '../../shared/gate/gateDecision.ts';
import { scoredRows, warningOfScores } from '../../shared/gate/scoredRows.ts';
import { countDifferences, momentsOf } from '../../shared/statistics/differences.ts';
import { levelOfEach } from '../../shared/statistics/levelOfEach.ts';
import { pairedTests } from '../../shared/statistics/pairedTest.ts';
import type { GateStatus } from '../../shared/wire/experimentGate.ts';

const SEED = 3;

/** Returns what the statistics of a comparison say of these differences. */
function changeOf(
  differences: readonly number[],
  level: number,
  direction: ComparedChange['direction'] = 'higher',
): ComparedChange {
  const counted = countDifferences(differences);
  const moments = momentsOf(counted);
  const [found] = pairedTests([{ moments, differences: counted, isYesOrNo: false }], { seed: SEED, level });
  if (!found) throw new Error('no pairs');
  const { deviation, pairs } = moments;
  return { direction, pairs, difference: found.difference, interval: { ...found.interval, level }, deviation };
}

const differences = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 2, maxLength: 40 });
/** In halves, so that limits fall on, below and above the ends of intervals. */
const drop = fc.integer({ min: 0, max: 8 }).map((halves) => halves / 2);
const level = fc.constantFrom(0.8, 0.95, 0.99);

describe('whether a metric has dropped', () => {
  property.prop([differences, drop, level], { numRuns: 100 })('follows from where the interval lies', (given, maxDrop, at) => {
    const change = changeOf(given, at);
    // An end that is the limit but for rounding is on it.
    const [low, high] = [change.interval.low, change.interval.high].map((end) => Math.round(end * 1e9) / 1e9) as [number, number];
    const expected = high < -maxDrop ? 'failed' : low >= -maxDrop ? 'passed' : 'undecided';
    expect(decideDrop(change, maxDrop).status).toBe(expected);
  });

  property.prop([differences, drop, drop, level], { numRuns: 100 })(
    'never gets worse where more is allowed',
    (given, one, other, at) => {
      const change = changeOf(given, at);
      const order = ['failed', 'undecided', 'passed'];
      const [strict, mild] = [Math.min(one, other), Math.max(one, other)].map((maxDrop) =>
        order.indexOf(decideDrop(change, maxDrop).status),
      ) as [number, number];
      expect(mild).toBeGreaterThanOrEqual(strict);
    },
  );

  property.prop([differences, drop, level])(
    'is the same of the opposite values with the opposite direction',
    (given, maxDrop, at) => {
      const change = changeOf(given, at);
      const { low, high, level: of } = change.interval;
      const mirrored: ComparedChange = {
        ...change,
        direction: 'lower',
        difference: -change.difference,
        interval: { low: -high, high: -low, level: of },
      };
      expect(decideDrop(mirrored, maxDrop)).toEqual(decideDrop(change, maxDrop));
    },
  );

  property.prop([differences, drop, level], { numRuns: 100 })(
    'names how many rows would tell where these do not',
    (given, maxDrop, at) => {
      const change = changeOf(given, at);
      const { status, rowsToDecide } = decideDrop(change, maxDrop);
      if (status !== 'undecided') return void expect(rowsToDecide).toBeNull();
      if (rowsToDecide === null) return void expect(change.difference).toBeCloseTo(-maxDrop, 9);
      expect(rowsToDecide).toBeGreaterThan(change.pairs);
    },
  );

  test('so many rows of the same kind do tell', () => {
    // 40 rows, 6 better and 8 worse: they allow no word about a drop of 0.2.
    const few = [...Array(6).fill(1), ...Array(8).fill(-1), ...Array(26).fill(0)];
    const change = changeOf(few, 0.95);
    const { status, rowsToDecide } = decideDrop(change, 0.2);
    expect(status).toBe('undecided');
    const times = Math.ceil((rowsToDecide as number) / few.length);
    const many = Array.from({ length: times + 1 }, () => few).flat();
    expect(decideDrop(changeOf(many, 0.95), 0.2).status).toBe('passed');
    // Not far fewer would have done: with two thirds of them the interval still holds the limit.
    const fewer = Array.from({ length: Math.max(1, Math.floor(times / 1.5) - 1) }, () => few).flat();
    expect(decideDrop(changeOf(fewer, 0.95), 0.2).status).toBe('undecided');
  });

  test('is not told by one row, and by rounding', () => {
    expect(decideDrop(changeOf([0], 0.95), 1)).toEqual({ status: 'undecided', rowsToDecide: null });
    expect(decideDrop(changeOf([0.7 - 0.8, 0.2 - 0.3], 0.95), 0.1).status).toBe('passed');
  });
});

describe('intervals that hold together', () => {
  property.prop([level, fc.integer({ min: 1, max: 50 })])('miss as seldom as one', (at, checks) => {
    expect(checks * (1 - levelOfEach(at, checks))).toBeCloseTo(1 - at, 9);
  });

  property.prop([differences, drop])('decide no more than each of them would', (given, maxDrop) => {
    const alone = decideDrop(changeOf(given, 0.95), maxDrop).status;
    const among = decideDrop(changeOf(given, levelOfEach(0.95, 20)), maxDrop).status;
    if (among !== 'undecided') expect(among).toBe(alone);
  });
});

test('a limit is kept by the limit itself', () => {
  expect(decideLimit(0.1 + 0.7, { min: 0.8 })).toBe('passed');
  expect(decideLimit(0.79, { min: 0.8 })).toBe('failed');
  expect(decideLimit(0.1 + 0.2, { max: 0.3 })).toBe('passed');
  expect(decideLimit(0.31, { max: 0.3 })).toBe('failed');
});

property.prop([fc.constantFrom<GateStatus>('passed', 'failed', 'undecided'), fc.nat(30), fc.nat(30)])(
  'what fewer than half of the rows say may fail, but not pass',
  (status, values, others) => {
    const found = decideScored(status, { values, rows: values + others });
    expect(found).toBe(status === 'passed' && values < others ? 'undecided' : status);
  },
);

test('a broken judge is warned of, and neither failed rows nor those that a metric does not apply to', () => {
  const counts = { values: 1, missing: 0, failed: 999, notApplicable: 5, failedRowsWithoutValue: 0 };
  const made = { counts, failedRows: 'omit' as const, worst: null };
  expect(warningOfScores('right', made)).toEqual(['right: scored 1 of 1000 rows, 999 could not be scored']);
  const sound = { ...counts, failed: 0, failedRowsWithoutValue: 3 };
  expect(warningOfScores('right', { ...made, counts: sound })).toEqual([]);
  expect(scoredRows({ ...made, counts: sound })).toEqual({ values: 1, rows: 4 });
  expect(scoredRows({ counts: sound, failedRows: 'worst', worst: 0 })).toEqual({ values: 4, rows: 4 });
});

test('a gate is as good as the worst of its checks', () => {
  expect(worstStatus(['passed', 'undecided', 'failed'])).toBe('failed');
  expect(worstStatus(['passed', 'undecided'])).toBe('undecided');
  expect(worstStatus([])).toBe('passed');
});
