import { logGamma } from './logGamma.ts';

const PRECISION = 1e-16;
const MAX_TERMS = 10_000;

/** The probability that a chi-squared variable with this many degrees of freedom is at least `x`. */
export const chiSquareTail = (x: number, degrees: number): number => upperGamma(degrees / 2, x / 2);

/** The regularized upper incomplete gamma function: by its series below `a + 1`, by its continued fraction (Lentz) above, where each converges fast. */
function upperGamma(a: number, x: number): number {
  if (x <= 0) return 1;
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let [term, sum] = [1 / a, 1 / a];
    for (let n = 1; n < MAX_TERMS && term > sum * PRECISION; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - sum * scale;
  }
  const tiny = Number.MIN_VALUE / Number.EPSILON;
  let b = x + 1 - a;
  let c = 1 / tiny;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n < MAX_TERMS; n++) {
    const numerator = -n * (n - a);
    b += 2;
    d = 1 / nonZero(numerator * d + b, tiny);
    c = nonZero(b + numerator / c, tiny);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < PRECISION * 10) break;
  }
  return fraction * scale;
}

const nonZero = (value: number, tiny: number): number => (Math.abs(value) < tiny ? tiny : value);
