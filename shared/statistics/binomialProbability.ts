import { stirlingError } from './logFactorial.ts';

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
