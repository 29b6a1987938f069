import { SIMILARITY } from './groups.ts';
import type { Metric } from './metric.ts';
import { wordsIn } from './words.ts';

/** More words take too long to compare: this is about 0.1 s. */
const MAX_WORDS = 5_000;

export const rouge: Metric = {
  name: 'rouge',
  label: 'ROUGE',
  description: 'ROUGE-L: F1 of the longest common subsequence of the words of output and reference output.',
  ...SIMILARITY,
  score({ output, datasetOutput }) {
    const reference = wordsIn(datasetOutput ?? '');
    if (reference.length === 0) return { notApplicable: 'the row has no reference output' };
    if (output === null) return { notApplicable: 'the record has no output' };
    const words = wordsIn(output);
    if (Math.max(words.length, reference.length) > MAX_WORDS)
      return { notApplicable: `texts over ${MAX_WORDS} words are not compared` };
    return { value: (2 * longestCommonSubsequence(words, reference)) / (words.length + reference.length) };
  },
};

function longestCommonSubsequence(a: readonly string[], b: readonly string[]): number {
  let above = new Uint16Array(b.length + 1);
  let current = new Uint16Array(b.length + 1);
  for (const word of a) {
    for (let column = 1; column <= b.length; column++)
      current[column] =
        word === b[column - 1]
          ? (above[column - 1] as number) + 1
          : Math.max(above[column] as number, current[column - 1] as number);
    [above, current] = [current, above];
  }
  return above[b.length] as number;
}
