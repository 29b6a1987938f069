import { bootstrap, type Interval } from './bootstrap.ts';
import { detectableDifference } from './detectableDifference.ts';
import type { Differences, Moments } from './differences.ts';
import { mcnemar } from './mcnemar.ts';
import { normalQuantile } from './normal.ts';
import { MAX_EXACT_FLIPS, signFlip, signFlipLimit } from './signFlip.ts';

/** Random flips of a test, and resamples of an interval. */
export const RESAMPLES = 10_000;
/** Beyond so many pairs, with more than so many distinct differences, the limits for many pairs are as good as resampling, and a thousand times as fast. */
export const LIMIT_PAIRS = 10_000;
const LIMIT_DISTINCT = 50;

export const isLarge = (pairs: number, distinct: number): boolean => pairs > LIMIT_PAIRS && distinct > LIMIT_DISTINCT;

export interface Sample {
  moments: Moments;
  /** Undefined where they are too many to be resampled (see {@link isLarge}). */
  differences: Differences | undefined;
  /** Each side said yes or no, once for each row. */
  isYesOrNo: boolean;
}

export interface PairedResult {
  /** Moments of the sample that was tested. */
  moments: Moments;
  difference: number;
  interval: Interval;
  test: 'mcnemar' | 'sign_flip';
  method: string;
  pValue: number;
  /** Null where the differences do not vary. */
  detectable: number | null;
}

/**
 * Tests whether paired values differ, with an interval for the mean difference: one result for each sample, undefined where it has no pairs. What one
 * sample gives follows from itself, the seed and the level alone.
 */
export function pairedTests(
  samples: readonly Sample[],
  { seed, level }: { seed: number; level: number },
): (PairedResult | undefined)[] {
  const resampled = samples.flatMap(({ moments, differences }) => (moments.pairs > 0 && differences ? [differences] : []));
  const bootstrapped = bootstrap(resampled, { resamples: RESAMPLES, seed, level });
  const intervals = new Map(resampled.map((differences, index) => [differences, bootstrapped[index] as Interval]));
  return samples.map((sample) => {
    const { mean, deviation, pairs } = sample.moments;
    if (pairs === 0) return undefined;
    const interval = sample.differences && intervals.get(sample.differences);
    const reach = (normalQuantile((1 + level) / 2) * deviation) / Math.sqrt(pairs);
    const { method, ...found } = tested(sample, seed);
    return {
      ...found,
      moments: sample.moments,
      difference: mean,
      interval: interval ?? { low: mean - reach, high: mean + reach },
      method: `${method}; interval: ${interval ? `percentile bootstrap over rows, ${RESAMPLES} resamples` : 'normal limit'}`,
      detectable: detectableDifference(deviation, pairs, level),
    };
  });
}

function tested({ moments, differences, isYesOrNo }: Sample, seed: number): Pick<PairedResult, 'test' | 'pValue' | 'method'> {
  const { below, above } = moments;
  if (isYesOrNo) return { test: 'mcnemar', pValue: mcnemar(below, above), method: 'exact McNemar test' };
  if (!differences) return { test: 'sign_flip', pValue: signFlipLimit(moments), method: 'sign-flip test, normal limit' };
  const pValue = signFlip(differences, { flips: RESAMPLES, seed });
  const which = below + above <= MAX_EXACT_FLIPS ? 'all flips' : `${RESAMPLES} random flips`;
  return { test: 'sign_flip', pValue, method: `sign-flip test, ${which}` };
}
