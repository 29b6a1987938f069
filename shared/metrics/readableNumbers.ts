import type { Pieces } from '../concurrency/pieces.ts';

/** Longer texts are read at their end: the answer stands there. */
const MAX_CHARACTERS = 200_000;

type Step = readonly [pattern: RegExp, replacement: string | ((...match: string[]) => string)];

/**
 * A text with digits, signs and separators as ASCII has them, without the marks of LaTeX and Markdown, and with dates as `2024-01-05`. Reading it twice
 * changes nothing.
 */
export function* readable(text: string): Pieces<string> {
  let read = text.slice(-MAX_CHARACTERS);
  for (const steps of [UNICODE, LATEX, WRITING]) {
    for (const [pattern, replacement] of steps) {
      read = read.replace(pattern, replacement as string);
      yield;
    }
    if (steps === UNICODE) read = read.normalize('NFKC').replaceAll(/[^\P{Nd}0-9]/gu, asciiDigit);
  }
  return read;
}

/** The digit of another script: those of a script follow each other from its zero on. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) as number;
  let zero = code;
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String(code - zero);
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const plainDigits = (text: string): string =>
  [...text].map((one) => (one === '⁻' ? '-' : one === '⁺' ? '' : String(SUPERSCRIPTS.indexOf(one)))).join('');

/** Steps that keep what NFKC would lose: raised digits, and fractions that are one sign. */
const UNICODE: readonly Step[] = [
  [/(?<=\p{Nd})(?=[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒])/gu, ' '],
  [/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒]/g, (one) => (one as string).normalize('NFKC').replace('\u2044', '/')],
  [/(?<=\p{Nd})[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/gu, (power) => `^${plainDigits(power as string)}`],
  [/(?<=\p{L})[⁰¹²³⁴⁵⁶⁷⁸⁹]+/gu, (power) => plainDigits(power as string)],
  [/[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, ''],
];

const isPlain = (part: string): boolean => /^\s*[-+]?(?:[\d.,]+|(?:\d+)?\p{L})\s*$/u.test(part);
const operand = (part: string): string => (isPlain(part) || part.startsWith('√') ? part.trim() : `(${part})`);
/** A fraction of LaTeX. Its callers say whether a digit stands before it: `1\frac{1}{2}` is one and a half. */
const slashed = (before: string, top: string, bottom: string): string =>
  `${before === '' ? '' : `${before} `}${operand(top)}/${operand(bottom)}`;
const FRACTION = /(\d?) ?\\[dtc]?frac\s*\{([^{}]{0,500})\}\s*\{([^{}]{0,500})\}/g;
const readFraction = (_: string, ...[before, top, bottom]: string[]): string =>
  slashed(before as string, top as string, bottom as string);

const LATEX: readonly Step[] = [
  [/[\u2212\ufe63\uff0d\u2010\u2011]/g, '-'],
  [/(?<=^|[\s(=:[$])(?<!\d\s)\u2013(?=[\d.]|\p{Sc})/gu, '-'],
  // In words, where nothing stands before it that it could be taken from.
  [
    /(?<=(?:^|[=:(,;>*_]|\b(?:is|was|are|be|to|of|at|by|and|or|equals?|gives?|get|about|exactly|roughly|approximately|answer|result))[\s*_]{0,3})(?:minus|negative)\s{1,3}(?=[\d.]|\p{Sc})/giu,
    '-',
  ],
  [/\u066a/g, '%'],
  [/\u066b/g, '.'],
  [/\u066c/g, ','],
  [/\\(?:left|right)(?=[()[\]{}|\\.])/g, ''],
  [/\{,\}/g, ','],
  [/\\pm(?![A-Za-z])|\+\/-|\+-(?=\d)/g, '±'],
  [/\\pi(?![A-Za-z])/g, 'π'],
  [/\\leq?(?![A-Za-z])|<=/g, '≤'],
  [/\\geq?(?![A-Za-z])|>=/g, '≥'],
  [/(?:\\sqrt\s*\{([^{}]{0,100})\}|\bsqrt\(([^()]{0,100})\))/g, (_, one, other) => `√${one ?? other}`],
  [/\\sqrt\s*(?=\d)/g, '√'],
  [/(\d?)\\[dtc]?frac\s*(\d)\s*(\d)/g, readFraction],
  [FRACTION, readFraction],
  [FRACTION, readFraction],
  [/\\(?:text|mathrm|mathbf|boxed|textbf|operatorname|mbox)\s*\{([^{}]*)\}/g, ' $1 '],
  [/(\d)\s*\\[,;:! ]\s*(?=\d{3})/g, '$1\u00a0'],
  [/\\[,;:! ]/g, ' '],
  [/\\(?:times|cdot)/g, '*'],
  [/\\([$%#&{}])/g, '$1'],
  [/\^\s*\{\s*([-+]?\d+)\s*\}/g, '^$1'],
  // A power of a unit or a variable is a part of its name.
  [/(?<=\p{L})\s*\^(\d+)/gu, '$1'],
  [/(?<=[\p{L})\]}])\s*\^[-+]?\d+/gu, ''],
];

const MYRIADS: Readonly<Record<string, bigint>> = {
  十: 10n, 百: 100n, 백: 100n, 千: 1_000n, 천: 1_000n, 万: 10_000n, 萬: 10_000n, 만: 10_000n, 亿: 100_000_000n, 億: 100_000_000n, 억: 100_000_000n,
  兆: 1_000_000_000_000n, 조: 1_000_000_000_000n,
}; // biome-ignore format: one line reads better

/** `3万5千` is 35000, `1.5亿` 150000000. */
function inMyriads(written: string): string {
  let total = 0n;
  let last = 0n;
  for (const [, digits = '', points = '', words = ''] of written.matchAll(/(\d+)(?:\.(\d+))?([十百백千천万萬만亿億억兆조]*)/g)) {
    const times = [...words].reduce((all, word) => all * (MYRIADS[word] as bigint), 1n);
    const part = (BigInt(digits + points) * times * 1_000n) / 10n ** BigInt(points.length);
    total += part;
    last = times;
  }
  const rest = total % 1_000n;
  return last === 0n ? written : `${total / 1_000n}${rest === 0n ? '' : `.${String(rest).padStart(3, '0').replace(/0+$/, '')}`}`;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\\.?';
const two = (part: string | undefined): string => (part as string).padStart(2, '0');
const monthOf = (name: string | undefined): string => two(String(MONTHS.indexOf((name as string).slice(0, 3).toLowerCase()) + 1));

const WRITING: readonly Step[] = [
  [/\*\*(?=\D|$)|(?<=\D|^)\*\*(?=\d)|[`]/g, ' '],
  [/(?<![\p{L}\p{N}_])_+(?=[\d$])|(?<=\d)_+(?![\p{L}\p{N}_])/gu, ' '],
  [/(?<![\p{L}\p{N}])0x([0-9a-f]{1,64})(?![\p{L}\p{N}])/giu, (_, digits) => BigInt(`0x${digits}`).toString()],
  [/(?<![\p{L}\p{N}])0b([01]{1,256})(?![\p{L}\p{N}])/giu, (_, digits) => BigInt(`0b${digits}`).toString()],
  [/(?<=\d)[x×](?=\d)/g, '*'],
  [/百分之\s*(\d+(?:\.\d+)?)/g, '$1%'],
  [/(?<![\d.,])(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日/g, (_, year, month, day) => `${year}-${two(month)}-${two(day)}`],
  [
    /(?<![\d.,])(?:\d{1,30}(?:\.\d{1,3})?[十百백千천万萬만亿億억兆조]{1,4}){1,6}(?:\d{1,4}(?![\d.,]))?/g,
    (written) => inMyriads(written as string),
  ],
  [
    new RegExp(`(?<![\\p{L}\\p{N}])${MONTH}\\s(\\d{1,2})(?:st|nd|rd|th)?,?\\s(\\d{4})(?![\\d.,]\\d|\\d)`, 'giu'),
    (_, month, day, year) => `${year}-${monthOf(month)}-${two(day)}`,
  ],
  [
    new RegExp(`(?<![\\p{N}.,])(\\d{1,2})(?:st|nd|rd|th|\\.)?\\s(?:of\\s)?${MONTH},?\\s(\\d{4})(?![\\d.,]\\d|\\d)`, 'giu'),
    (_, day, month, year) => `${year}-${monthOf(month)}-${two(day)}`,
  ],
  [/(?<=\d)T(?=\d\d:\d\d)/g, ' '],
  [/(\d)\s(?:out\sof|sur|von)\s(?=\d)/g, '$1/'],
  [/=\s*-\s+(?=\d)/g, '= -'],
  // A pair in brackets has no decimal comma.
  [
    /[([{][-+\d.,\s]{3,200}[)\]}]/g,
    (pair) =>
      (pair as string).includes(',') && !/,\d{3}(?!\d)/.test(pair as string)
        ? (pair as string).replaceAll(',', ', ')
        : (pair as string),
  ],
];
