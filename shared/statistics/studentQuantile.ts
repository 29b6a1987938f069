import { normalQuantile } from './normal.ts';

/**
 * The number below which a variable of Student's distribution lies with this probability: exact for one and two degrees of freedom, else the expansion
 * of Cornish and Fisher (Abramowitz and Stegun 26.7.5), to three digits at three degrees and the probability 0.975, and more beyond.
 */
export function studentQuantile(probability: number, degrees: number): number {
  if (degrees === 1) return Math.tan(Math.PI * (probability - 0.5));
  if (degrees === 2) return (2 * probability - 1) / Math.sqrt(2 * probability * (1 - probability));
  const z = normalQuantile(probability);
  const z2 = z * z;
  const terms = [
    (z2 + 1) / 4,
    ((5 * z2 + 16) * z2 + 3) / 96,
    (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
    ((((79 * z2 + 776) * z2 + 1_482) * z2 - 1_920) * z2 - 945) / 92_160,
  ];
  return z * terms.reduce((sum, term, at) => sum + term / degrees ** (at + 1), 1);
}
