import { type Pieces, pieceByPiece } from '../concurrency/pieces.ts';
import { commonSubsequencePieces } from './commonSubsequence.ts';
import { SIMILARITY } from './groups.ts';
import type { Metric, Score } from './metric.ts';
import { NO_REFERENCE } from './reasons.ts';
import { wordsIn } from './words.ts';

/** More words take too long to compare: this is about 0.1 s. */
const MAX_WORDS = 20_000;

export const rouge: Metric = {
  name: 'rouge',
  label: 'ROUGE',
  description: 'ROUGE-L: F1 of the longest common subsequence of the words of output and reference output.',
  ...SIMILARITY,
  score: ({ output, datasetOutput }, { signal }) => pieceByPiece(scorePieces(output, datasetOutput), signal),
};

function* scorePieces(output: string | null, datasetOutput: string | null): Pieces<Score> {
  const reference = yield* wordsIn(datasetOutput ?? '');
  if (reference.length === 0) return { notApplicable: NO_REFERENCE };
  if (output === null) return { notApplicable: 'the record has no output' };
  const words = yield* wordsIn(output);
  if (Math.max(words.length, reference.length) > MAX_WORDS)
    return { notApplicable: `texts over ${MAX_WORDS} words are not compared` };
  const common = yield* commonSubsequencePieces(words, reference);
  return { value: (2 * common) / (words.length + reference.length) };
}
