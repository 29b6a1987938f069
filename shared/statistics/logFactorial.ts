import { logGamma } from './logGamma.ts';

const TABLE = Float64Array.from({ length: 256 }, (_, n) => logGamma(n + 1));

/** log n! of a whole number. */
export const logFactorial = (n: number): number => (n < TABLE.length ? (TABLE[n] as number) : stirling(n) + stirlingError(n));

/** log n! less what Stirling's formula gives. */
export function stirlingError(n: number): number {
  if (n < 16) return logGamma(n + 1) - stirling(n);
  const squared = n * n;
  return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / squared) / squared) / squared) / squared) / n;
}

const HALF_LOG_OF_TWO_PI = 0.5 * Math.log(2 * Math.PI);
const stirling = (n: number): number => (n + 0.5) * Math.log(n) - n + HALF_LOG_OF_TWO_PI;
