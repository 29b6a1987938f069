import type { GivenResult } from './recordableResult.ts';

/** Of a value that is no text: its number and its place. */
const BYTES_PER_VALUE = 16;

/** What a result weighs in memory and in the store, roughly: its texts, and something for every other value. Iterative: depth costs no stack. */
export function resultBytes({ output, error, spans, localMetrics, tags }: GivenResult): number {
  let bytes = 0;
  const open: unknown[] = [output, error, spans, localMetrics, tags];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') bytes += value.length;
    else bytes += BYTES_PER_VALUE;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) for (const one of value) open.push(one);
    else
      for (const key of Object.keys(value)) {
        bytes += key.length;
        open.push((value as Record<string, unknown>)[key]);
      }
  }
  return bytes;
}
