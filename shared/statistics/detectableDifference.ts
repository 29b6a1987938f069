import { normalQuantile } from './normal.ts';

/** The share of repetitions in which a true difference of that size would be found. */
const POWER = 0.8;

/**
 * The smallest true difference that a comparison of so many pairs finds four times out of five: (z(1 - alpha/2) + z(0.8)) s / sqrt(n). Null where the
 * differences do not vary, which says nothing about other samples.
 * @param deviation of the differences
 */
export function detectableDifference(deviation: number, pairs: number, level: number): number | null {
  if (!(deviation > 0)) return null;
  return ((normalQuantile((1 + level) / 2) + normalQuantile(POWER)) * deviation) / Math.sqrt(pairs);
}
