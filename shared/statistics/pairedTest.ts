import { bootstrap, type Interval } from './bootstrap.ts';
import { detectableDifference } from './detectableDifference.ts';
import { type Differences, momentsOf, signsOf } from './differences.ts';
import { mcnemar } from './mcnemar.ts';
import { normalQuantile } from './normal.ts';
import { MAX_EXACT_FLIPS, signFlip, signFlipLimit } from './signFlip.ts';

/** Random flips of a test, and resamples of an interval. */
export const RESAMPLES = 10_000;
/** Beyond so many pairs, with more than so many distinct differences, the limits for many pairs are as good as resampling, and a thousand times as fast. */
export const LIMIT_PAIRS = 10_000;
export const LIMIT_DISTINCT = 50;

export interface Sample {
  differences: Differences;
  /** Each side said yes or no, once for each row. */
  isYesOrNo: boolean;
}

export interface PairedResult {
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
  const resampled = samples.flatMap(({ differences }) => (differences.pairs > 0 && !isLarge(differences) ? [differences] : []));
  const bootstrapped = bootstrap(resampled, { resamples: RESAMPLES, seed, level });
  const intervals = new Map(resampled.map((differences, index) => [differences, bootstrapped[index] as Interval]));
  return samples.map((sample) => {
    const { differences } = sample;
    if (differences.pairs === 0) return undefined;
    const { mean, deviation } = momentsOf(differences);
    const interval = intervals.get(differences);
    const reach = (normalQuantile((1 + level) / 2) * deviation) / Math.sqrt(differences.pairs);
    const { test, pValue, method } = tested(sample, seed);
    return {
      difference: mean,
      interval: interval ?? { low: mean - reach, high: mean + reach },
      test,
      method: `${method}; interval: ${interval ? `percentile bootstrap over rows, ${RESAMPLES} resamples` : 'normal limit'}`,
      pValue,
      detectable: detectableDifference(deviation, differences.pairs, level),
    };
  });
}

const isLarge = ({ pairs, values }: Differences): boolean => pairs > LIMIT_PAIRS && values.length > LIMIT_DISTINCT;

function tested({ differences, isYesOrNo }: Sample, seed: number): Pick<PairedResult, 'test' | 'pValue' | 'method'> {
  const { below, above } = signsOf(differences);
  if (isYesOrNo) return { test: 'mcnemar', pValue: mcnemar(below, above), method: 'exact McNemar test' };
  if (isLarge(differences))
    return { test: 'sign_flip', pValue: signFlipLimit(differences), method: 'sign-flip test, normal limit' };
  const pValue = signFlip(differences, { flips: RESAMPLES, seed });
  const which = below + above <= MAX_EXACT_FLIPS ? 'all flips' : `${RESAMPLES} random flips`;
  return { test: 'sign_flip', pValue, method: `sign-flip test, ${which}` };
}
