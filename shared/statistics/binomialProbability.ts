import { logGamma } from './logGamma.ts';

/**
 * The logarithm of the probability that exactly `k` of `n` fair coins show heads, by the saddle-point form of Loader (2000): factorials of large numbers
 * would lose the digits in which they differ.
 */
export function logFairProbability(k: number, n: number): number {
  if (k === 0 || k === n) return -n * Math.LN2;
  const half = n / 2;
  const correction = stirlingError(n) - stirlingError(k) - stirlingError(n - k);
  return correction - deviance(k, half) - deviance(n - k, half) - 0.5 * Math.log((2 * Math.PI * k * (n - k)) / n);
}

/** log n! less what Stirling's formula gives. */
function stirlingError(n: number): number {
  if (n < 16) return logGamma(n + 1) - (n + 0.5) * Math.log(n) + n - 0.5 * Math.log(2 * Math.PI);
  const squared = n * n;
  return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / squared) / squared) / squared) / squared) / n;
}

/** x log(x / mean) + mean - x, without loss where the two are close. */
function deviance(x: number, mean: number): number {
  if (Math.abs(x - mean) >= 0.1 * (x + mean)) return x * Math.log(x / mean) + mean - x;
  const v = (x - mean) / (x + mean);
  let sum = (x - mean) * v;
  let term = 2 * x * v;
  for (let odd = 3; odd < 1_000; odd += 2) {
    term *= v * v;
    const next = sum + term / odd;
    if (next === sum) break;
    sum = next;
  }
  return sum;
}
