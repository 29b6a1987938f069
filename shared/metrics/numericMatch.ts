import { type Pieces, pieceByPiece } from '../concurrency/pieces.ts';
import { REFERENCE } from './groups.ts';
import type { Metric, Score } from './metric.ts';
import { readable } from './readableNumbers.ts';
import { NO_REFERENCE } from './reasons.ts';
import { areEqual, type WrittenNumber, writtenNumbers } from './writtenNumbers.ts';

export const numericMatch: Metric = {
  name: 'numeric_match',
  label: 'Numeric Match',
  description:
    'The number that the output ends with equals the number of the reference output, however the two are written. A reference of several numbers is compared as a whole.',
  ...REFERENCE,
  score: ({ output, datasetOutput }, { signal }) => pieceByPiece(scorePieces(output, datasetOutput), signal),
};

/** Words beside the numbers of a reference that is a list, a range or a pair; a longer one is prose, in which no rule finds the number that counts. */
const MAX_WORDS = 4;

function* scorePieces(output: string | null, datasetOutput: string | null): Pieces<Score> {
  if (datasetOutput === null) return { notApplicable: NO_REFERENCE };
  const reference = yield* readable(answerIn(datasetOutput));
  const expected = yield* writtenNumbers(reference);
  if (expected.length === 0) return { notApplicable: 'the reference output holds no number' };
  if (expected.length > 1 && wordsBeside(reference, expected) > MAX_WORDS)
    return {
      notApplicable: `the reference output holds ${expected.length} numbers, and does not say which is the answer: mark it with "####" or \\boxed{}`,
    };
  if (output === null) return { notApplicable: 'the record has no output' };
  const found = (yield* writtenNumbers(yield* readable(answerIn(output)))).slice(-expected.length);
  const isEqual =
    found.length === expected.length &&
    found[0]?.joinedBy === undefined &&
    found.every((one, at) => areJoinedAlike(one, expected[at] as WrittenNumber) && areEqual(one, expected[at] as WrittenNumber));
  return {
    value: isEqual,
    explanation:
      found.length === 0
        ? `no number, expected ${listNumbers(expected)}`
        : `${listNumbers(found)}, expected ${listNumbers(expected)}`,
  };
}

/** `10-20` is `10 to 20`, and not `10+20`. */
const areJoinedAlike = (a: WrittenNumber, b: WrittenNumber): boolean =>
  a.joinedBy === b.joinedBy || a.joinedBy === undefined || b.joinedBy === undefined;

const listNumbers = (numbers: readonly WrittenNumber[]): string =>
  numbers.map(({ value, mark, unit }) => [value, mark, unit?.name].filter(Boolean).join(' ')).join(', ');

/** Returns what the last `\boxed{}` holds, or what follows the last `####`, where that has a number; else the whole text. */
function answerIn(text: string): string {
  const boxed = [...text.matchAll(/\\boxed\s*\{((?:[^{}]|\{[^{}]{0,200}\}){1,200})\}/g)].at(-1)?.[1];
  if (boxed !== undefined && HAS_DIGIT.test(boxed)) return boxed;
  const at = text.lastIndexOf('####');
  return at !== -1 && HAS_DIGIT.test(text.slice(at)) ? text.slice(at + 4) : text;
}

const HAS_DIGIT = /\p{N}/u;

function wordsBeside(text: string, numbers: readonly WrittenNumber[]): number {
  let rest = '';
  let from = 0;
  for (const { start, end } of numbers) {
    rest += `${text.slice(from, start)} `;
    from = end;
  }
  return [...(rest + text.slice(from)).matchAll(/\p{L}+/gu)].length;
}
