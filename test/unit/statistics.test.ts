import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import type { ComparedMetric } from '../../shared/comparison/comparedMetrics.ts';
import type { ComparedRuns, PairsQuery } from '../../shared/comparison/comparisonReads.ts';
import { metricPairs } from '../../shared/comparison/metricPairs.ts';
import { binomialDraw } from '../../shared/statistics/binomialDraw.ts';
import { bootstrap } from '../../shared/statistics/bootstrap.ts';
import { chiSquareTail } from '../../shared/statistics/chiSquareTail.ts';
import { countDifferences, type Differences, eachDifference, momentsOf } from '../../shared/statistics/differences.ts';
import { holm } from '../../shared/statistics/holm.ts';
import { mcnemar } from '../../shared/statistics/mcnemar.ts';
import { normalQuantile, normalTails } from '../../shared/statistics/normal.ts';
import { isLarge, LIMIT_PAIRS, pairedTests, RESAMPLES, type Sample } from '../../shared/statistics/pairedTest.ts';
import { Random } from '../../shared/statistics/random.ts';
import { signFlip, signFlipLimit } from '../../shared/statistics/signFlip.ts';
import { stuartMaxwell } from '../../shared/statistics/stuartMaxwell.ts';

// Recorded answers of SciPy and statsmodels; make_answers.py beside them made them.

interface Answers {
  level: number;
  resamples: number;
  mcnemar: { counts: [number, number]; p: number }[];
  exact_flips: { differences: number[]; p: number }[];
  random_flips: { differences: number[]; p: number }[];
  bootstrap: { differences: number[]; low: number; high: number; standard_error: number }[];
  limits: { differences: number[]; p: number; interval: [number, number]; detectable: number }[];
  holm: { p: number[]; adjusted: number[] }[];
  stuart_maxwell: { table: number[][]; statistic: number; degrees: number; p: number }[];
  normal_tails: { z: number; p: number }[];
  normal_quantiles: { probability: number; z: number }[];
  chi_square_tails: { x: number; degrees: number; p: number }[];
  binomial: { trials: number; probability: number; quantiles: [number, number, number] }[];
}

const answers = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/statistics/answers.json'), 'utf8')) as Answers;
const { level } = answers;
const [SEED, EXACT] = [20, 1e-9];

const sampleOf = (differences: Differences, isYesOrNo = false): Sample => ({
  moments: momentsOf(differences),
  differences,
  isYesOrNo,
});

/** Equal to 1e-9, and small probabilities to as many digits. */
function expectExact(found: number, expected: number): void {
  expect(Math.abs(found - expected)).toBeLessThanOrEqual(EXACT * Math.min(1, Math.abs(expected)) + Number.MIN_VALUE);
}

/** Within four standard errors of the difference of two resampled figures, whose variances are given for one resample. */
function expectWithinFourErrors(found: number, expected: number, variance: number, slack = 0): void {
  const error = Math.sqrt(variance * (1 / RESAMPLES + 1 / answers.resamples));
  expect(Math.abs(found - expected)).toBeLessThanOrEqual(4 * error + slack);
}

describe('exact answers equal those of SciPy and statsmodels', () => {
  test.each(answers.mcnemar)('McNemar of $counts', ({ counts: [oneWay, otherWay], p }) => {
    expectExact(mcnemar(oneWay, otherWay), p);
    expect(mcnemar(otherWay, oneWay)).toBe(mcnemar(oneWay, otherWay));
  });

  test.each(answers.exact_flips)('sign flips of $differences', ({ differences, p }) => {
    expectExact(signFlip(countDifferences(differences), { flips: RESAMPLES, seed: SEED }), p);
  });

  test.each(answers.stuart_maxwell)('Stuart-Maxwell of $table', ({ table, statistic, degrees, p }) => {
    const found = stuartMaxwell(table);
    expect(found.degrees).toBe(degrees);
    expectExact(found.statistic, statistic);
    expectExact(found.pValue, p);
  });

  test.each(answers.holm)('Holm of $p', ({ p, adjusted }) => {
    for (const [index, value] of holm(p).entries()) expectExact(value, adjusted[index] as number);
  });

  test('tails and quantiles of the normal and the chi-squared distribution', () => {
    for (const { z, p } of answers.normal_tails) expectExact(normalTails(z), p);
    for (const { probability, z } of answers.normal_quantiles) expect(normalQuantile(probability)).toBeCloseTo(z, 9);
    for (const { x, degrees, p } of answers.chi_square_tails) expectExact(chiSquareTail(x, degrees), p);
  });

  test('limits for many pairs, and the detectable difference', () => {
    for (const { differences, p, interval, detectable } of answers.limits) {
      const counted = countDifferences(differences);
      expectExact(signFlipLimit(momentsOf(counted)), p);
      const { mean, deviation } = momentsOf(counted);
      const reach = (normalQuantile((1 + level) / 2) * deviation) / Math.sqrt(differences.length);
      expect([mean - reach, mean + reach]).toEqual(interval.map((end) => expect.closeTo(end, 9)));
      const [result] = pairedTests([sampleOf(counted)], { seed: SEED, level });
      expect(result?.detectable).toBeCloseTo(detectable, 9);
    }
  });
});

describe('resampled answers lie within four Monte Carlo errors of SciPy', () => {
  test.each(answers.random_flips)('random sign flips, p = $p', ({ differences, p }) => {
    expectWithinFourErrors(signFlip(countDifferences(differences), { flips: RESAMPLES, seed: SEED }), p, p * (1 - p));
  });

  test.each(answers.bootstrap)('bootstrap interval from $low to $high', ({ differences, low, high, standard_error }) => {
    const [interval] = bootstrap([countDifferences(differences)], { resamples: RESAMPLES, seed: SEED, level });
    // Variance of a quantile: q (1 - q) over the square of the density there, here that of a normal distribution.
    const tail = (1 - level) / 2;
    const density = Math.exp(-(normalQuantile(tail) ** 2) / 2) / Math.sqrt(2 * Math.PI) / standard_error;
    const variance = (tail * (1 - tail)) / density ** 2;
    // Means of whole numbers lie on a grid.
    const slack = differences.every(Number.isInteger) ? 1 / differences.length : 0;
    expectWithinFourErrors(interval?.low as number, low, variance, slack);
    expectWithinFourErrors(interval?.high as number, high, variance, slack);
  });

  test('counting equal differences and drawing each of them give the same figures', () => {
    const answersOf = (better: number, worse: number, same: number) => countDifferences([1, -1, 0], [better, worse, same]);
    // Noise far below the differences keeps them apart, so that they are drawn one by one.
    const apart = (counted: ReturnType<typeof answersOf>) =>
      countDifferences(eachDifference(counted).map((value, index) => value + index * 1e-7));
    for (const counted of [answersOf(300, 240, 460), answersOf(30, 8, 1_962)]) {
      const flip = { flips: RESAMPLES, seed: SEED };
      const p = signFlip(counted, flip);
      expect(Math.abs(signFlip(apart(counted), flip) - p)).toBeLessThanOrEqual(
        4 * Math.sqrt((2 * p * (1 - p)) / RESAMPLES) + 2 / RESAMPLES,
      );
      const resampling = { resamples: RESAMPLES, seed: SEED, level };
      const [one, other] = [bootstrap([counted], resampling)[0], bootstrap([apart(counted)], resampling)[0]];
      const { deviation } = momentsOf(counted);
      const close = (4 * 2 * 0.0267 * deviation) / Math.sqrt(counted.pairs) + 2 / counted.pairs;
      expect(Math.abs((one?.low ?? 0) - (other?.low ?? 9))).toBeLessThan(close);
      expect(Math.abs((one?.high ?? 0) - (other?.high ?? 9))).toBeLessThan(close);
    }
  });

  test.each(answers.binomial)('binomial numbers of $trials trials at $probability', ({ trials, probability, quantiles }) => {
    const random = new Random(SEED);
    const draws = Float64Array.from({ length: 20_000 }, () => binomialDraw(random, trials, probability)).sort();
    const deviation = Math.sqrt(trials * probability * (1 - probability));
    const at = (share: number): number => draws[Math.floor(share * draws.length)] as number;
    expect(Math.abs(at(0.5) - quantiles[1])).toBeLessThanOrEqual(4 * 0.0089 * deviation + 1);
    expect(Math.abs(at(0.01) - quantiles[0])).toBeLessThanOrEqual(4 * 0.0265 * deviation + 1);
    expect(Math.abs(at(0.99) - quantiles[2])).toBeLessThanOrEqual(4 * 0.0265 * deviation + 1);
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    expect(Math.abs(mean - trials * probability)).toBeLessThan((4 * deviation) / Math.sqrt(draws.length));
  });
});

const difference = fc.integer({ min: -8, max: 8 }).map((eighths) => eighths / 8);

describe('whatever the sample', () => {
  property.prop([fc.array(difference, { maxLength: 60 })])('counting keeps each difference', (given) => {
    const counted = countDifferences(given);
    expect([...eachDifference(counted)]).toEqual([...given].map((value) => value + 0).sort((a, b) => a - b));
    const { below, above, pairs } = momentsOf(counted);
    const [negative, positive] = [given.filter((value) => value < 0), given.filter((value) => value > 0)];
    expect([below, above, pairs]).toEqual([negative.length, positive.length, given.length]);
  });

  property.prop([fc.array(difference, { minLength: 1, maxLength: 60 })], { numRuns: 30 })(
    'turned round, a comparison says the opposite',
    (given) => {
      const resampling = { seed: SEED, level };
      const turned = given.map((value) => 0 - value);
      const of = (values: number[]) => pairedTests([sampleOf(countDifferences(values))], resampling)[0];
      const [one, other] = [of(given), of(turned)];
      expect(other?.difference).toBeCloseTo(-(one?.difference ?? 0), 12);
      // The same random numbers, but in another order: of up to 13 differences all flips are gone through.
      if (given.filter((value) => value !== 0).length <= 13) expect(other?.pValue).toBe(one?.pValue);
      expect(one?.interval.low).toBeLessThanOrEqual(one?.difference ?? 0);
      expect(one?.interval.high).toBeGreaterThanOrEqual(one?.difference ?? 0);
    },
  );

  property.prop([fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 })])(
    'Holm keeps the order and is between p and Bonferroni',
    (given) => {
      const adjusted = holm(given);
      for (const [index, p] of given.entries()) {
        expect(adjusted[index]).toBeGreaterThanOrEqual(p);
        expect(adjusted[index]).toBeLessThanOrEqual(Math.min(1, p * given.length));
        for (const [other, q] of given.entries())
          if (p < q) expect(adjusted[index]).toBeLessThanOrEqual(adjusted[other] as number);
      }
    },
  );
});

test('differences that rounding alone keeps apart are one', () => {
  const { values, counts } = countDifferences([0.9 - 0.7, 0.3 - 0.1, 0.8 - 0.6, 1 - 0.9 - 0.1]);
  expect([...counts]).toEqual([1, 3]);
  expect(values[0]).toBe(0);
});

test('a sample has the same figures whatever it is compared together with', () => {
  const random = new Random(1);
  const sample = () => sampleOf(countDifferences(Array.from({ length: 300 }, () => random.fraction() - 0.4)));
  const [first, second] = [sample(), sample()];
  const resampling = { seed: SEED, level };
  expect(pairedTests([first, second], resampling)).toEqual([first, second].flatMap((one) => pairedTests([one], resampling)));
});

test('no pairs have no result, one pair and ties have one that claims nothing', () => {
  const of = (given: number[], isYesOrNo = false) =>
    pairedTests([sampleOf(countDifferences(given), isYesOrNo)], { seed: SEED, level })[0];
  expect(of([])).toBeUndefined();
  expect(of([0.5])).toMatchObject({ pValue: 1, detectable: null, interval: { low: 0.5, high: 0.5 } });
  expect(of([0, 0, 0])).toMatchObject({ pValue: 1, detectable: null, interval: { low: 0, high: 0 }, difference: 0 });
  expect(of([0, 0, 0], true)).toMatchObject({ pValue: 1, test: 'mcnemar', detectable: null });
});

test('many pairs with many distinct differences take the limits, and say so', () => {
  const random = new Random(2);
  const many = countDifferences(Array.from({ length: LIMIT_PAIRS + 1 }, () => random.fraction() - 0.49));
  const few = countDifferences([-1, 0, 0.5, 1], [20_000, 40_000, 100, 20_400]);
  const [limits, resampled] = pairedTests([{ ...sampleOf(many), differences: undefined }, sampleOf(few)], { seed: SEED, level });
  expect(limits?.method).toBe('sign-flip test, normal limit; interval: normal limit');
  expect(resampled?.method).toBe('sign-flip test, 10000 random flips; interval: percentile bootstrap over rows, 10000 resamples');
  const { mean, deviation } = momentsOf(few);
  const reach = (1.96 * deviation) / Math.sqrt(few.pairs);
  expect(resampled?.interval.low).toBeCloseTo(mean - reach, 3);
  expect(resampled?.pValue).toBeCloseTo(signFlipLimit(momentsOf(few)), 1);
  expect([isLarge(LIMIT_PAIRS + 1, many.values.length), isLarge(few.pairs, few.values.length), isLarge(LIMIT_PAIRS, 51)]).toEqual(
    [true, false, false],
  );
});

test('metrics that are read a few at a time bring the worst values of those alone', async () => {
  const asked: PairsQuery[] = [];
  const reads = {
    pairs: async (query: PairsQuery) => {
      asked.push(query);
      return [];
    },
  };
  const metrics = ['a', 'b', 'c'].map((id) => ({ id, isMeasured: false }) as ComparedMetric);
  const worst = new Map([
    ['a', 0],
    ['c', 5],
  ]);
  const found = await metricPairs(
    reads,
    { runs: {} as ComparedRuns, metrics, slice: undefined, rows: 700_000, worst },
    undefined,
  );
  expect(asked.map(({ metrics: names, worst: values }) => [names, [...values]])).toEqual([
    [['a', 'b'], [['a', 0]]],
    [['c'], [['c', 5]]],
  ]);
  expect(found.map(({ metric }) => metric)).toEqual(['a', 'b', 'c']);
});

test('a thread that was prepared and not used keeps no process from its end', () => {
  const thread = join(import.meta.dirname, '../../shared/comparison/statisticsThread.ts');
  const script = `import { statisticsThread } from ${JSON.stringify(thread)}; statisticsThread().prepare(); console.log('prepared');`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 60_000 });
  expect(said).toBe('prepared\n');
});
