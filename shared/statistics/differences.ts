/**
 * The differences of paired values: each distinct one with the number of pairs that have it, the smallest first. A sample of 100,000 yes-or-no answers
 * is three numbers so, and no test looks at the order of pairs.
 */
export interface Differences {
  values: Float64Array;
  counts: Float64Array;
  /** Pairs in all. */
  pairs: number;
}

/** Differences closer than this share of the largest one are equal: `0.3 - 0.1` and `0.9 - 0.7` are not the same floating-point number. */
const ROUNDING = 2 ** -40;

/**
 * Counts differences. What differs by rounding alone is one of them, and what differs from nothing by rounding alone is 0.
 * @param counts how many pairs have each given difference; one where absent
 */
export function countDifferences(given: ArrayLike<number>, counts?: ArrayLike<number>): Differences {
  const order = Uint32Array.from({ length: given.length }, (_, index) => index);
  const at = (index: number): number => given[index] as number;
  if (isUnsorted(given)) order.sort((one, other) => at(one) - at(other));
  const largest = Math.max(0, ...[order[0], order.at(-1)].map((index) => (index === undefined ? 0 : Math.abs(at(index)))));
  const step = largest * ROUNDING;
  const values = new Float64Array(given.length);
  const merged = new Float64Array(given.length);
  let [last, first, pairs] = [-1, Number.NEGATIVE_INFINITY, 0];
  for (const index of order) {
    const value = Math.abs(at(index)) <= step ? 0 : at(index);
    if (last < 0 || value - first > step) {
      last += 1;
      first = value;
      values[last] = value;
    }
    const count = counts?.[index] ?? 1;
    merged[last] = (merged[last] as number) + count;
    pairs += count;
  }
  return { values: values.slice(0, last + 1), counts: merged.slice(0, last + 1), pairs };
}

function isUnsorted(values: ArrayLike<number>): boolean {
  for (let index = 1; index < values.length; index++) if ((values[index] as number) < (values[index - 1] as number)) return true;
  return false;
}

/** One number for each pair. */
export function eachDifference({ values, counts, pairs }: Differences): Float64Array {
  const all = new Float64Array(pairs);
  let from = 0;
  for (const [index, value] of values.entries()) {
    const to = from + (counts[index] as number);
    all.fill(value, from, to);
    from = to;
  }
  return all;
}

/** Count, mean and moments of differences, without the differences themselves. */
export interface Moments {
  pairs: number;
  /** NaN without pairs. */
  mean: number;
  /** Sample standard deviation, over n - 1; NaN for fewer than two pairs. */
  deviation: number;
  /** Sum of their squares. */
  squares: number;
  /** Pairs whose difference is less than 0, and more. */
  below: number;
  above: number;
}

export function momentsOf({ values, counts, pairs }: Differences): Moments {
  let [sum, squares, below, above] = [0, 0, 0, 0];
  for (const [index, value] of values.entries()) {
    const count = counts[index] as number;
    sum += value * count;
    squares += value * value * count;
    if (value < 0) below += count;
    if (value > 0) above += count;
  }
  const mean = sum / pairs;
  let spread = 0;
  for (const [index, value] of values.entries()) spread += (value - mean) ** 2 * (counts[index] as number);
  return { pairs, mean, deviation: pairs < 2 ? Number.NaN : Math.sqrt(spread / (pairs - 1)), squares, below, above };
}
