/**
 * The value below which a share of the sorted values lies: at rank `share × (n − 1)`, counted from 0, and in between two ranks on the straight line
 * between their values. The 0.5 percentile is the median. It is `quantileExactInclusive` of ClickHouse, to the last bit, and the default of NumPy, R
 * and spreadsheets (type 7 of Hyndman and Fan 1996). NaN without values.
 */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const rank = share * (sorted.length - 1) + 1;
  const below = Math.floor(rank);
  const [low, high] = [sorted[below - 1], sorted[below]];
  if (low === undefined) return Number.NaN;
  return high === undefined ? low : low + (rank - below) * (high - low);
}
