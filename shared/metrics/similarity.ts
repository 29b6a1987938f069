import { pieceByPiece } from '../concurrency/pieces.ts';
import { editDistancePieces } from '../identifiers/editDistance.ts';
import { SIMILARITY } from './groups.ts';
import type { Metric } from './metric.ts';
import { NO_REFERENCE } from './reasons.ts';
import { normalized } from './words.ts';

/** Longer texts take too long to compare (the work grows with the product of both lengths: this is about 0.2 s). */
const MAX_LENGTH = 30_000;

export const similarity: Metric = {
  name: 'similarity',
  label: 'Similarity',
  description: 'Likeness of output and reference output: 1 minus their edit distance by the length of the longer one.',
  ...SIMILARITY,
  async score({ output, datasetOutput }, { signal }) {
    if (datasetOutput === null) return { notApplicable: NO_REFERENCE };
    if (output === null) return { notApplicable: 'the record has no output' };
    const [text, reference] = [normalized(output), normalized(datasetOutput)];
    const longest = Math.max(text.length, reference.length);
    if (longest > MAX_LENGTH) return { notApplicable: `texts over ${MAX_LENGTH} characters are not compared` };
    if (longest === 0) return { value: 1 };
    return { value: 1 - (await pieceByPiece(editDistancePieces(text, reference), signal)) / longest };
  },
};
