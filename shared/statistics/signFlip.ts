import { binomialDraw } from './binomialDraw.ts';
import { type Differences, eachDifference, type Moments } from './differences.ts';
import { normalTails } from './normal.ts';
import { Random } from './random.ts';

/** Up to so many differences that are not 0, all ways of flipping their signs are gone through: 8,192 of them. */
export const MAX_EXACT_FLIPS = 13;

/** Sums of equal differences in another order are equal: this share of the sum of all is rounding. */
const ROUNDING = 1e-12;

/**
 * The sign-flip test of paired differences. Had both sides come from one source, each difference could as well have had the other sign; p is how
 * often flipped signs give a sum as far from 0 as the one found.
 * @param flips how many random ones are tried where there are too many to try all
 */
export function signFlip(differences: Differences, { flips, seed }: { flips: number; seed: number }): number {
  const sizes = sizesOf(differences);
  if (sizes.pairs <= MAX_EXACT_FLIPS) return exactly(eachDifference(sizes), limitOf(differences));
  const reached = isCheaperCounted(sizes)
    ? countedFlips(sizes, limitOf(differences), flips, new Random(seed))
    : eachFlip(eachDifference(sizes), limitOf(differences), flips, new Random(seed));
  return (1 + reached) / (flips + 1);
}

/** The limit of the test for many pairs: the sum of the differences with random signs is normal, with the sum of their squares as its variance. */
export const signFlipLimit = ({ mean, pairs, squares }: Moments): number =>
  squares === 0 ? 1 : normalTails((mean * pairs) / Math.sqrt(squares));

/** Returns the differences that are not 0, without their sign. */
function sizesOf({ values, counts }: Differences): Differences {
  const sizes = new Map<number, number>();
  for (const [index, value] of values.entries())
    if (value !== 0) sizes.set(Math.abs(value), (sizes.get(Math.abs(value)) ?? 0) + (counts[index] as number));
  return {
    values: Float64Array.from(sizes.keys()),
    counts: Float64Array.from(sizes.values()),
    pairs: [...sizes.values()].reduce((sum, count) => sum + count, 0),
  };
}

/** Returns the size that a sum must reach. */
function limitOf({ values, counts }: Differences): number {
  let [sum, sizes] = [0, 0];
  for (const [index, value] of values.entries()) {
    sum += value * (counts[index] as number);
    sizes += Math.abs(value) * (counts[index] as number);
  }
  return Math.abs(sum) - sizes * ROUNDING;
}

function exactly(sizes: Float64Array, limit: number): number {
  const all = 2 ** sizes.length;
  const sums = signedSums(sizes);
  let reached = 0;
  for (const sum of sums) if (Math.abs(sum) >= limit) reached += 1;
  return reached / all;
}

/** The sum of these numbers with each choice of signs: bit i of the index flips number i. */
function signedSums(sizes: Float64Array): Float64Array {
  const sums = new Float64Array(2 ** sizes.length);
  for (let signs = 0; signs < sums.length; signs++) {
    let sum = 0;
    for (let bit = 0; bit < sizes.length; bit++) sum += signs & (1 << bit) ? -(sizes[bit] as number) : (sizes[bit] as number);
    sums[signs] = sum;
  }
  return sums;
}

/** A draw from a binomial distribution takes as long as some twenty looks at a table. */
const isCheaperCounted = ({ values, pairs }: Differences): boolean => values.length * 20 * TABLE_BITS < pairs * 2;

/** Draws how many of c equal differences keep their sign: a binomial number. */
function countedFlips({ values, counts }: Differences, limit: number, flips: number, random: Random): number {
  let reached = 0;
  for (let flip = 0; flip < flips; flip++) {
    let sum = 0;
    for (const [index, value] of values.entries()) {
      const count = counts[index] as number;
      sum += value * (2 * binomialDraw(random, count, 0.5) - count);
    }
    if (Math.abs(sum) >= limit) reached += 1;
  }
  return reached;
}

/** Differences whose signs are flipped together: the sums of all 256 choices are in a table, so that one random byte does for eight of them. */
const TABLE_BITS = 8;
const TABLE_SIZE = 2 ** TABLE_BITS;

function eachFlip(sizes: Float64Array, limit: number, flips: number, random: Random): number {
  const groups = Math.ceil(sizes.length / TABLE_BITS);
  const tables = new Float64Array(groups * TABLE_SIZE);
  for (let group = 0; group < groups; group++) {
    const padded = new Float64Array(TABLE_BITS);
    padded.set(sizes.subarray(group * TABLE_BITS, (group + 1) * TABLE_BITS));
    tables.set(signedSums(padded), group * TABLE_SIZE);
  }
  const words = new Uint32Array(Math.ceil(groups / 4));
  const bytes = new Uint8Array(words.buffer);
  let reached = 0;
  for (let flip = 0; flip < flips; flip++) {
    random.fill(words);
    let sum = 0;
    for (let group = 0; group < groups; group++) sum += tables[group * TABLE_SIZE + (bytes[group] as number)] as number;
    if (Math.abs(sum) >= limit) reached += 1;
  }
  return reached;
}
