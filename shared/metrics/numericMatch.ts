import { REFERENCE } from './groups.ts';
import { allPieces, inPieces, type Pieces } from './inPieces.ts';
import type { Metric, Score } from './metric.ts';

/**
 * A number: `1234`, `1,234.50`, `$1,234`, `-$5`, `.5`, `6.02e23`. A comma belongs to it only between groups of three digits, so `1, 2` and `3,14`
 * are two numbers each; a minus is a sign only where no number, word or bracket ends before it, so `16-3` ends in 3 and `x = -3` in -3.
 */
const NUMBER =
  /(?:(?<![\w)\].%])[-\u2212])?(?:[$€£]\s?)?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE][+-]?\d{1,3}(?!\w))?/g;

/** Numbers between two yields: about 0.2 ms. */
const NUMBERS_PER_PIECE = 1_000;

export const numericMatch: Metric = {
  name: 'numeric_match',
  label: 'Numeric Match',
  description: 'The last number in the output equals the last number in the reference output.',
  ...REFERENCE,
  score: ({ output, datasetOutput }, { signal }) => inPieces(scorePieces(output, datasetOutput), signal),
};

function* scorePieces(output: string | null, datasetOutput: string | null): Pieces<Score> {
  const expected = datasetOutput === null ? undefined : yield* lastNumberPieces(datasetOutput);
  if (expected === undefined) return { notApplicable: 'the reference output holds no number' };
  if (output === null) return { notApplicable: 'the record has no output' };
  const found = yield* lastNumberPieces(output);
  return {
    value: found === expected,
    explanation: found === undefined ? `no number, expected ${expected}` : `${found}, expected ${expected}`,
  };
}

/**
 * The last number of a text in a form in which equal numbers are equal texts (`1,234.00`, `$1234` and `1234.` all give `1234`), undefined without
 * one. Digits are compared, not floating-point values: no length is too long.
 */
export const lastNumber = (text: string): string | undefined => allPieces(lastNumberPieces(text));

function* lastNumberPieces(text: string): Pieces<string | undefined> {
  let last: string | undefined;
  let count = 0;
  for (const [found] of text.matchAll(NUMBER)) {
    last = found;
    if (++count % NUMBERS_PER_PIECE === 0) yield;
  }
  return last === undefined ? undefined : canonical(last);
}

function canonical(written: string): string {
  const negative = /^[-\u2212]/.test(written);
  const [mantissa = '', exponent = '0'] = written.replace(/[^\d.eE+-]|^[-\u2212]/g, '').split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = digits.replace(/0+$/, '');
  // value = significant × 10^scale
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${negative ? '-' : ''}${withPoint(significant, scale)}`;
}

/** Digits with their point, written out where that is short. */
function withPoint(digits: string, scale: number): string {
  if (Math.abs(scale) > 400) return `${digits}e${scale}`;
  if (scale >= 0) return digits + '0'.repeat(scale);
  const padded = digits.padStart(1 - scale, '0');
  return `${padded.slice(0, scale)}.${padded.slice(scale)}`;
}
