import { SIMILARITY } from './groups.ts';
import type { Metric } from './metric.ts';

/** Longer texts take too long to compare (the work grows with the product of both lengths: this is about 0.2 s). */
const MAX_LENGTH = 10_000;

export const similarity: Metric = {
  name: 'similarity',
  label: 'Similarity',
  description: 'Likeness of output and reference output: 1 minus their edit distance by the length of the longer one.',
  ...SIMILARITY,
  score({ output, datasetOutput }) {
    if (datasetOutput === null) return { notApplicable: 'the row has no reference output' };
    if (output === null) return { notApplicable: 'the record has no output' };
    const longest = Math.max(output.length, datasetOutput.length);
    if (longest > MAX_LENGTH) return { notApplicable: `texts over ${MAX_LENGTH} characters are not compared` };
    return { value: longest === 0 ? 1 : 1 - editDistance(output, datasetOutput) / longest };
  },
};

/** Insertions, deletions and replacements that turn one text into the other (Levenshtein), two rows of the table at a time. */
export function editDistance(a: string, b: string): number {
  let above = Uint16Array.from({ length: b.length + 1 }, (_, column) => column);
  let current = new Uint16Array(b.length + 1);
  for (let row = 1; row <= a.length; row++) {
    current[0] = row;
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] as number) + (a.charCodeAt(row - 1) === b.charCodeAt(column - 1) ? 0 : 1);
      current[column] = Math.min(replaced, (above[column] as number) + 1, (current[column - 1] as number) + 1);
    }
    [above, current] = [current, above];
  }
  return above[b.length] as number;
}
