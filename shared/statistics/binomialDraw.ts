import { logFactorial } from './logFactorial.ts';
import type { Random } from './random.ts';

/** Below this mean the tail is walked along; above it, rejection takes the same time for any mean. */
const LARGE_MEAN = 10;

/** How many of `trials` succeed, each with this probability. */
export function binomialDraw(random: Random, trials: number, probability: number): number {
  if (trials <= 0 || probability <= 0) return 0;
  if (probability >= 1) return trials;
  if (probability > 0.5) return trials - binomialDraw(random, trials, 1 - probability);
  return trials * probability < LARGE_MEAN ? byInversion(random, trials, probability) : byRejection(random, trials, probability);
}

function byInversion(random: Random, trials: number, probability: number): number {
  const odds = probability / (1 - probability);
  let chance = Math.exp(trials * Math.log1p(-probability));
  let left = random.fraction();
  let count = 0;
  while (left > chance && count < trials) {
    left -= chance;
    count += 1;
    chance *= (odds * (trials - count + 1)) / count;
  }
  return count;
}

/** Transformed rejection with squeeze (BTRS) of Hörmann, "The generation of binomial random variates" (1993). */
function byRejection(random: Random, trials: number, probability: number): number {
  const deviation = Math.sqrt(trials * probability * (1 - probability));
  const b = 1.15 + 2.53 * deviation;
  const a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const centre = trials * probability + 0.5;
  const squeeze = 0.92 - 4.2 / b;
  const alpha = (2.83 + 5.1 / b) * deviation;
  // Four of five draws end before the logarithms of factorials, which take longer than all the rest.
  const logLikelihood = (count: number): number => {
    const mode = Math.floor((trials + 1) * probability);
    const atMode = logFactorial(mode) + logFactorial(trials - mode);
    const logOdds = Math.log(probability / (1 - probability));
    return atMode - logFactorial(count) - logFactorial(trials - count) + (count - mode) * logOdds;
  };
  for (;;) {
    const u = random.fraction() - 0.5;
    const v = random.fraction();
    const us = 0.5 - Math.abs(u);
    const count = Math.floor(((2 * a) / us + b) * u + centre);
    if (us >= 0.07 && v <= squeeze) return count;
    if (count < 0 || count > trials) continue;
    if (Math.log((v * alpha) / (a / (us * us) + b)) <= logLikelihood(count)) return count;
  }
}
