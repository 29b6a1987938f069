import { normalQuantile } from './normal.ts';

/**
 * How many pairs would show on which side of a limit the difference is, if the difference and its spread stayed as they are. Of n pairs the interval
 * reaches about z(1 - alpha/2) s / sqrt(n) to each side, and it lies on one side of the limit once that is no more than the distance d from the
 * difference to the limit: n = (z s / d)^2. Always more than the pairs that did not suffice. Null where nothing can be said: of a difference that is
 * the limit itself, and of a single pair.
 * @param deviation of the differences
 * @param level of the interval
 */
export function rowsToDecide(given: { deviation: number; distance: number; pairs: number; level: number }): number | null {
  const { deviation, distance, pairs, level } = given;
  const rows = ((normalQuantile((1 + level) / 2) * deviation) / distance) ** 2;
  return rows < Number.MAX_SAFE_INTEGER ? Math.max(Math.ceil(rows), pairs + 1) : null;
}
