import type { SourceRow } from '../datasets/experimentRow.ts';
import type { GivenResult } from './recordableResult.ts';

/** Bytes of a value that is no text: its number and its place. */
const BYTES_PER_VALUE = 16;
const BYTES_PER_ROW = 500;

/** Returns what a result weighs in memory and in the store, roughly: its texts, and something for every other value. Iterative: depth costs no stack. */
export const resultBytes = ({ output, error, spans, localMetrics, tags }: GivenResult): number =>
  bytesOf([output, error, spans, localMetrics, tags]);

/** The same of a row: its texts, and the values that were made of them as much again. */
export const rowBytes = ({ input, expected, metadata, generatedOutput, variables }: Omit<SourceRow, 'ordinal'>): number =>
  BYTES_PER_ROW + 2 * input.length + bytesOf([expected, metadata, generatedOutput, variables]);

function bytesOf(open: unknown[]): number {
  let bytes = 0;
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
