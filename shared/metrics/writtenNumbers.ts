import { allPieces, type Pieces } from './inPieces.ts';

/**
 * A number as a text has it, in a form in which equal numbers are equal texts: `1,234.00`, `$1234` and `1.234e3` are `1234`, `2/4` is `1/2`. What holds
 * several numbers and is one thing (a date, a time, a version) is that text.
 */
export interface WrittenNumber {
  value: string;
  /** The same as a share, of a number in percent: `50%` is 50, and 0.5. */
  share?: string;
  /** Where it stands in the text as it was read, see {@link readable}. */
  start: number;
  end: number;
}

const VULGAR: Readonly<Record<string, string>> = Object.fromEntries(
  [...'½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒'].map((one) => [one, ` ${one.normalize('NFKC').replace('\u2044', '/')}`]),
);
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const superscript = (text: string): string =>
  [...text].map((one) => (one === '⁻' ? '-' : one === '⁺' ? '' : String(SUPERSCRIPTS.indexOf(one)))).join('');

/** Longer texts are read at their end: the answer stands there. */
const MAX_CHARACTERS = 200_000;

/** A text with digits, signs and separators as ASCII has them, and without the marks of LaTeX and Markdown. */
export function readable(text: string): string {
  return text
    .slice(-MAX_CHARACTERS)
    .replaceAll(/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒]/g, (one) => VULGAR[one] ?? one)
    .replaceAll(/(\b10)([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, (_, ten: string, power: string) => `${ten}^${superscript(power)}`)
    .replaceAll(/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, '')
    .normalize('NFKC')
    .replaceAll(/[^\P{Nd}0-9]/gu, asciiDigit)
    .replaceAll(/[\u2212\ufe63\uff0d\u2010\u2011]/g, '-')
    .replaceAll('\u066b', '.')
    .replaceAll('\u066c', ',')
    .replaceAll(/\\(?:d|t|c)?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, ' $1/$2')
    .replaceAll(/\\(?:text|mathrm|mathbf|boxed|textbf|operatorname|mbox)\s*\{([^{}]*)\}/g, ' $1 ')
    .replaceAll('{,}', ',')
    .replaceAll(/(\d)\s*\\[,;:! ]\s*(?=\d{3})/g, '$1\u00a0')
    .replaceAll(/\\[,;:! ]/g, ' ')
    .replaceAll(/\\(?:times|cdot)/g, '*')
    .replaceAll(/\\([$%#&])/g, '$1')
    .replaceAll(/\^\s*\{\s*([-+]?\d+)\s*\}/g, '^$1')
    .replaceAll(/\*\*(?=\D|$)|(?<=\D|^)\*\*(?=\d)|[`]/g, ' ');
}

/** The digit of another script: those of a script follow each other from its zero on. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) as number;
  let zero = code;
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String(code - zero);
}

const SPACE = '[ \\u00a0\\u2009\\u202f]';
// Groups are bounded, so that a long list of numbers takes no time that grows with its square.
const WHOLE = [
  '\\d{1,3}(?:,\\d{3}){1,12}(?!\\d)(?:\\.\\d+)?', // 1,234,567.89
  '\\d{1,3}(?:,\\d{2}){1,12},\\d{3}(?![\\d,])(?:\\.\\d+)?', // 12,34,567
  '\\d{1,3}(?:\\.\\d{3}){1,12},\\d+', // 1.234,56
  '\\d{1,3}(?:\\.\\d{3}){2,12}(?!\\.?\\d)', // 1.234.567
  `\\d{1,3}(?:${SPACE}\\d{3}){1,12}(?!\\d)(?:[.,]\\d+(?!\\d))?`, // 1 234 567,89
  "\\d{1,3}(?:['’]\\d{3}){1,12}(?!\\d)(?:[.,]\\d+)?", // 1'234.50
  '\\d{1,3}(?:_\\d{3}){1,12}(?!\\d)(?:\\.\\d+)?', // 1_234
  '(?<![\\d,.])\\d+,(?:\\d{1,2}|\\d{4,})(?![\\d,]|\\.\\d)', // 3,14
  '(?<![\\d,.])0,\\d{3}(?![\\d,]|\\.\\d)', // 0,125
  '\\d+(?:\\.\\d+)?',
  '(?<!\\d)\\.\\d+',
].join('|');
const CURRENCY = '(?:(?<![\\p{L}])[A-Z]{0,3}\\p{Sc}|(?<![\\p{L}])(?:USD|EUR|GBP|CHF|JPY|CNY|INR|Rs\\.?)(?=\\s?-?\\d))';
const SCALES: readonly (readonly [words: string, power: number])[] = [
  ['thousand|tausend|Tsd\\.?|[kK](?![\\p{L}])', 3],
  ['lakhs?|lacs?', 5],
  ['millions?|Millionen|Mio\\.?|mln|mn(?![\\p{L}])|M(?![\\p{L}²^])', 6],
  ['crores?', 7],
  ['billions?|Milliarden?|Mrd\\.?|bn(?![\\p{L}])|B(?![\\p{L}])', 9],
  ['trillions?|tn(?![\\p{L}])', 12],
];
const SCALE = SCALES.map(([words]) => words).join('|');

/** Several numbers that are one thing. Dates, times, versions, telephone numbers of this form. */
const COMPOUND =
  '\\d{1,4}-\\d{1,2}-\\d{1,4}(?!\\d)|\\d{1,4}/\\d{1,2}/\\d{1,4}(?!\\d)|\\d{1,2}:\\d{2}(?::\\d{2})?(?!\\d)|(?!\\d{1,3}(?:\\.\\d{3}){2,12}(?!\\.?\\d))\\d+\\.\\d+\\.\\d+(?:\\.\\d+)*(?!\\d)';

const NUMBER = new RegExp(
  [
    `(?<before>(?<![\\p{L}\\p{N}_)\\].%])-(?=${CURRENCY}))?`,
    `(?<open>\\((?=${CURRENCY}\\s?\\d[\\d.,]*\\)))?`,
    `(?<currency>${CURRENCY}\\s?)?`,
    `(?<sign>(?<![\\p{L}\\p{N}_)\\].%])[-+](?=[\\d.]))?`,
    `(?<![\\p{L}_])(?:v?(?<compound>(?<![\\d.:/-])(?:${COMPOUND}))`,
    `|(?:(?<mixed>\\d+)(?:${SPACE}|-|${SPACE}and${SPACE}))?(?<top>\\d+)\\s?[/\\u2044\\u2215]\\s?(?<bottom>\\d+)(?![\\d/.])`,
    `|(?<whole>${WHOLE})(?:[eE](?<e>[+-]?\\d{1,4})(?![\\p{L}\\d])|\\s?(?:[*x×]\\s?10\\s?(?:\\^|\\*\\*)\\s?(?<power>[-+]?\\d{1,4})))?)`,
    `(?:\\s?(?<percent>%|percent\\b|per cent\\b|Prozent\\b)|${SPACE}?(?<scale>${SCALE})(?![\\p{L}]))?`,
  ].join(''),
  'gu',
);

/** Numbers between two yields: about 0.2 ms. */
const NUMBERS_PER_PIECE = 500;

/** The numbers of a text that {@link readable} gave, in order. */
export function* writtenNumbers(text: string): Pieces<WrittenNumber[]> {
  const found: WrittenNumber[] = [];
  for (const match of text.matchAll(NUMBER)) {
    const number = numberOf(match);
    if (number) found.push(number);
    if (found.length % NUMBERS_PER_PIECE === 0) yield;
  }
  return found;
}

export const numbersIn = (text: string): string[] => allPieces(writtenNumbers(readable(text))).map(({ value }) => value);

function numberOf(match: RegExpExecArray): WrittenNumber | undefined {
  const { before, open, sign, compound, mixed, top, bottom, whole, e, power, percent, scale } = match.groups as Record<
    string,
    string | undefined
  >;
  const place = { start: match.index, end: match.index + match[0].length };
  if (compound !== undefined) return { ...place, value: compound };
  const isNegative = before !== undefined || open !== undefined || sign === '-';
  if (top !== undefined && bottom !== undefined) {
    const value = fraction(BigInt(mixed ?? 0), BigInt(top), BigInt(bottom), isNegative);
    // What is divided by zero is two numbers, and no value.
    return value === undefined ? undefined : { ...place, value };
  }
  if (whole === undefined) return undefined;
  const times = Number(e ?? power ?? 0) + (scale === undefined ? 0 : powerOf(scale));
  const value = decimal(withPointOf(whole), times, isNegative);
  return { ...place, value, ...(percent === undefined ? {} : { share: decimal(withPointOf(whole), times - 2, isNegative) }) };
}

const powerOf = (word: string): number => SCALES.find(([words]) => new RegExp(`^(?:${words})`, 'u').test(word))?.[1] ?? 0;

/** The digits of a number, with a point before its fraction. */
function withPointOf(written: string): string {
  const bare = written.replaceAll(/[ \u00a0\u2009\u202f'’_]/g, '');
  if (/^\d{1,3}(?:\.\d{3})+,\d+$/.test(bare)) return bare.replaceAll('.', '').replace(',', '.');
  if (/^\d{1,3}(?:\.\d{3}){2,}$/.test(bare)) return bare.replaceAll('.', '');
  const isGrouped = bare === written;
  if (/^\d+,\d+$/.test(bare) && (!isGrouped || !/^\d{1,3}(?:,\d{3})+$/.test(bare) || /^0,/.test(bare)))
    return bare.replace(',', '.');
  return bare.replaceAll(',', '');
}

/** value = digits × 10^scale, written out where that is short. Digits are compared, not floating-point values: no length is too long. */
function decimal(mantissa: string, exponent: number, isNegative: boolean): string {
  const [whole = '', part = ''] = mantissa.split('.');
  const digits = (whole + part).replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = digits.replace(/0+$/, '');
  const scale = exponent - part.length + (digits.length - significant.length);
  return `${isNegative ? '-' : ''}${withPoint(significant, scale)}`;
}

function withPoint(digits: string, scale: number): string {
  if (Math.abs(scale) > 400) return `${digits}e${scale}`;
  if (scale >= 0) return digits + '0'.repeat(scale);
  const padded = digits.padStart(1 - scale, '0');
  return `${padded.slice(0, scale)}.${padded.slice(scale)}`;
}

/** A fraction in lowest terms; as a decimal where that ends. */
function fraction(whole: bigint, top: bigint, bottom: bigint, isNegative: boolean): string | undefined {
  if (bottom === 0n) return undefined;
  const all = whole * bottom + top;
  const divisor = greatest(all, bottom);
  let [above, below] = [all / divisor, bottom / divisor];
  if (above === 0n) return '0';
  let digits = 0;
  let rest = below;
  while (rest % 10n === 0n) rest /= 10n;
  while (rest % 2n === 0n) rest /= 2n;
  while (rest % 5n === 0n) rest /= 5n;
  if (rest !== 1n) return `${isNegative ? '-' : ''}${above}/${below}`;
  while (below !== 1n) {
    above *= 10n;
    digits++;
    const common = greatest(above, below);
    above /= common;
    below /= common;
  }
  return decimal(String(above), -digits, isNegative);
}

const greatest = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatest(b, a % b));
