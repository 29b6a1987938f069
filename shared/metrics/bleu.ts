import { type Pieces, pieceByPiece } from '../concurrency/pieces.ts';
import { SIMILARITY } from './groups.ts';
import type { Metric, Score } from './metric.ts';
import { NO_REFERENCE } from './reasons.ts';
import { wordsIn } from './words.ts';

const LONGEST = 4;
/** Runs of words between two yields: about 0.3 ms. */
const RUNS_PER_PIECE = 1_000;

export const bleu: Metric = {
  name: 'bleu',
  label: 'BLEU',
  description:
    'BLEU of the output against the reference output: up to 4 words in a row, smoothed by one count above single words, with brevity penalty.',
  ...SIMILARITY,
  score: ({ output, datasetOutput }, { signal }) => pieceByPiece(scorePieces(output, datasetOutput), signal),
};

function* scorePieces(output: string | null, datasetOutput: string | null): Pieces<Score> {
  const reference = yield* wordsIn(datasetOutput ?? '');
  if (reference.length === 0) return { notApplicable: NO_REFERENCE };
  if (output === null) return { notApplicable: 'the record has no output' };
  const words = yield* wordsIn(output);
  if (words.length === 0) return { value: 0 };
  const orders = Math.min(LONGEST, words.length, reference.length);
  let logs = 0;
  for (let order = 1; order <= orders; order++) logs += Math.log(yield* precision(words, reference, order));
  const brevity = Math.min(0, 1 - reference.length / words.length);
  return { value: Math.exp(brevity + logs / orders) };
}

/** Share of the runs of `order` words that the reference has too, each as often as the reference has it (smoothing: Lin and Och 2004). */
function* precision(words: readonly string[], reference: readonly string[], order: number): Pieces<number> {
  // How often the reference has each run, less one for each that was found.
  const left = new Map<string, number>();
  for (let at = 0; at + order <= reference.length; at++) {
    const run = runAt(reference, at, order);
    left.set(run, (left.get(run) ?? 0) + 1);
    if ((at + 1) % RUNS_PER_PIECE === 0) yield;
  }
  let hits = 0;
  for (let at = 0; at + order <= words.length; at++) {
    const run = runAt(words, at, order);
    const times = left.get(run) ?? 0;
    if (times > 0) {
      hits++;
      left.set(run, times - 1);
    }
    if ((at + 1) % RUNS_PER_PIECE === 0) yield;
  }
  const smoothing = order > 1 ? 1 : 0;
  return (hits + smoothing) / (words.length - order + 1 + smoothing);
}

const runAt = (words: readonly string[], at: number, order: number): string => words.slice(at, at + order).join(' ');
