import type { KeyRange } from './dataset.ts';

/** Says which keys are in a list of ranges. */
export function membership(ranges: readonly KeyRange[]): (rowKey: number) => boolean {
  const sorted = [...ranges].sort((a, b) => a.rowKey - b.rowKey);
  const starts = sorted.map(({ rowKey }) => rowKey);
  return (rowKey) => {
    const range = sorted[firstAtLeast(starts, rowKey + 1) - 1];
    return range !== undefined && rowKey < range.rowKey + range.count;
  };
}

/** Position of the first of the ascending numbers that is not below `limit`. */
function firstAtLeast(ascending: readonly number[], limit: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A range in pieces, so that each of the given keys in it is a piece of its own. `keys` ascend. */
export function* cutAt({ rowKey, count }: KeyRange, keys: readonly number[]): Generator<KeyRange, void> {
  const end = rowKey + count;
  let start = rowKey;
  for (let at = firstAtLeast(keys, start); at < keys.length; at += 1) {
    const key = keys[at] as number;
    if (key >= end) break;
    if (key > start) yield { rowKey: start, count: key - start };
    yield { rowKey: key, count: 1 };
    start = key + 1;
  }
  if (start < end) yield { rowKey: start, count: end - start };
}

/** The keys of a range that are kept. */
export function* keptOf({ rowKey, count }: KeyRange, kept: ReadonlySet<number>): Generator<KeyRange, void> {
  for (let key = rowKey; key < rowKey + count; key += 1) if (kept.has(key)) yield { rowKey: key, count: 1 };
}
