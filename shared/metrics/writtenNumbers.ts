import { allPieces, type Pieces } from '../concurrency/pieces.ts';
import { type NumberUnit, UNIT_AFTER, unitOf } from './numberUnits.ts';
import { readable } from './readableNumbers.ts';

/**
 * A number as a text has it, in a form in which equal numbers are equal texts: `1,234.00`, `$1234` and `1.234e3` are `1234`, `2/4` is `1/2`. What holds
 * several numbers and is one thing (a date, a time, a version) is that text: dates are `2024-01-05`, times have 24 hours.
 */
export interface WrittenNumber {
  value: string;
  /** The same as a share, of a number in percent: `50%` is 50, and 0.5. */
  share?: string;
  /** Sign that makes it another number: `±`, `√`, `≤`, a variable or π behind it. */
  mark: string;
  /** Its unit or currency, where it has a known one. */
  unit?: NumberUnit;
  /** Sign that ties it to the number before, as in `10-20`, `3:2`, `5+3`: neither is the number of the text by itself. */
  joinedBy?: string;
  /** Where it stands in the text as it was read, see {@link readable}. */
  start: number;
  end: number;
}

const SPACE = '[ \\u00a0\\u2009\\u202f]';
// Groups are bounded, so that a long list of numbers takes no time that grows with its square.
const WHOLE = [
  "\\d{1,3}(?:[.\u2019']\\d{3}){1,12}(?=[.,][-\u2013\u2014])", // 1.000,-
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
  ['[hH]undred', 2],
  ['[tT]housand|[tT]ausend|Tsd\\.?|[kK](?![\\p{L}])|mille|mila|mil|тыс\\.?|тысячи?|हज़ार|हजार|ألف|آلاف', 3],
  ['lakhs?|lacs?|लाख', 5],
  [
    'millions?|Millionen|Mio\\.?|mln\\.?|mn(?![\\p{L}])|M(?![\\p{L}\\p{N}²^])|mill[oó]n(?:es)?|milh(?:ão|ões)|milioni|milione|milion(?:y|ów)?|miljoen|miljon(?:er)?|млн\\.?|миллион(?:а|ов)?|मिलियन|مليون|ملايين',
    6,
  ],
  ['crores?|करोड़', 7],
  [
    'billions?|milliards?|Milliarden?|Mrd\\.?|bn(?![\\p{L}])|B(?![\\p{L}])|mld\\.?|bilh(?:ão|ões)|miliard[iy]?|miliardów|miljard|млрд\\.?|миллиард(?:а|ов)?|अरब|مليار',
    9,
  ],
  ['[tT]rillions?|tn(?![\\p{L}])|billones|Billionen|трлн\\.?', 12],
];
const SCALE = SCALES.map(([words]) => words).join('|');

/** Several numbers that are one thing. Dates, times, versions, telephone numbers of this form. */
const COMPOUND =
  '\\d{1,4}-\\d{1,2}-\\d{1,4}(?!\\d)|\\d{1,4}/\\d{1,2}/\\d{1,4}(?!\\d)|\\d{1,2}:\\d{2}(?::\\d{2})?(?!\\d)(?:\\s?[aApP]\\.?[mM](?![\\p{L}]))?|(?!\\d{1,3}(?:\\.\\d{3}){2,12}(?!\\.?\\d))\\d+\\.\\d+\\.\\d+(?:\\.\\d+)*(?!\\d)';

const NUMBER = new RegExp(
  [
    '(?<mark>[±√≤≥]\\s?|(?:(?<=[\\p{L}\\p{N})]\\s?)|(?<=^\\s?))(?:<|(?<!<\\/?\\w{1,20})>)\\s?(?=[-\\d.])|(?<=(?<![\\p{L}])[\\p{L}]|\\))/)?',
    `(?<before>(?<![\\p{L}\\p{N}_)\\].%])-(?=${CURRENCY}))?`,
    `(?<open>\\((?=${CURRENCY}\\s?\\d[\\d.,]*\\)))?`,
    `(?<currency>${CURRENCY}\\s?)?`,
    `(?<sign>(?<![\\p{L}\\p{N}_)\\].%])[-+](?=[\\d.]))?`,
    `(?<![\\p{L}_])(?:v?(?<compound>(?<![\\d.:/-])(?:${COMPOUND}))`,
    `|(?:(?<mixed>\\d+)(?:${SPACE}|-|${SPACE}and${SPACE}))?(?<top>\\d+)\\s?[/\\u2044\\u2215]\\s?(?<bottom>\\d+)(?![\\d/.])`,
    `|(?<whole>${WHOLE})(?:[eE](?<e>[+-]?\\d{1,4})(?![\\p{L}\\d])|\\s?(?:[*x×·⋅]\\s?10\\s?(?:\\^|\\*\\*)\\s?(?<power>[-+]?\\d{1,4}))|\\s?(?:\\^|\\*\\*)\\s?(?<raised>[-+]?\\d{1,4}))?)`,
    `(?:(?=\\s?[^\\d\\s.,;:!?)])(?:\\s?(?<percent>%|‰|(?:percent|per ?cent|pct|percentage points?|Prozent|por ciento|por cento|per cento|pour ?cent|procent|процент(?:а|ов)?)(?![\\p{L}]))|${SPACE}?(?<scale>${SCALE})(?![\\p{L}])|${SPACE}?(?<dozen>dozen)(?![\\p{L}])))?`,
    '(?<symbol>\\s?π|[xyzin]\\d{0,3}(?![\\p{L}\\p{N}]))?',
    `(?<dash>[.,][-\\u2013\\u2014](?!\\d))?(?:(?=\\s?[^\\d\\s.,;:!?)])\\s?(?<unit>${UNIT_AFTER}))?`,
  ].join(''),
  'gu',
);

/** Numbers between two yields: about 0.3 ms. */
const NUMBERS_PER_PIECE = 50;

/** The numbers of a text that {@link readable} gave, in order. What stands before a lone `=` is worked out by what stands behind it, and left out. */
export function* writtenNumbers(text: string): Pieces<WrittenNumber[]> {
  let found: WrittenNumber[] = [];
  const hasWords = /\p{L}{2}/u.test(text);
  let last: WrittenNumber | undefined;
  let count = 0;
  for (const match of text.matchAll(NUMBER)) {
    const number = numberOf(match);
    if (number) {
      if (last && /^\s{0,3}=\s{0,3}$/.test(text.slice(last.end, number.start))) found = beforeLast(found);
      else if (last) Object.assign(number, joinTo(text, last, number, hasWords));
      found.push(number);
      last = number;
    }
    if (++count % NUMBERS_PER_PIECE === 0) yield;
  }
  return found;
}

/** The numbers without the last one and what is joined to it. */
function beforeLast(found: WrittenNumber[]): WrittenNumber[] {
  let length = found.length - 1;
  while (length > 0 && found[length]?.joinedBy !== undefined) length--;
  found.length = length;
  return found;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '–': '-',
  '—': '-',
  '~': '-',
  '×': '*',
  '·': '*',
  '⋅': '*',
  x: '*',
  '÷': '/',
  '′': "'",
};

function joinTo(
  text: string,
  last: WrittenNumber,
  { start, mark }: WrittenNumber,
  hasWords: boolean,
): Pick<WrittenNumber, 'joinedBy'> | undefined {
  if (start - last.end > 3) return undefined;
  const between = text.slice(last.end, start);
  const operator = between.trim();
  if (operator === '') {
    const isSigned = mark.startsWith('±') || /[-+]/.test(text[start] ?? '');
    return between === '' || (isSigned && between === ' ') ? { joinedBy: isSigned ? (text[start] as string) : '' } : undefined;
  }
  const isTight = operator === between;
  const isOperator = isTight
    ? /^[-–—~+*×·⋅x/÷:^'°′]$/.test(operator)
    : /^[+*×·⋅x/÷^]$/.test(operator) || (!hasWords && /^[-–—~:]$/.test(operator));
  return isOperator ? { joinedBy: OPERATORS[operator] ?? operator } : undefined;
}

export const numbersIn = (text: string): string[] =>
  allPieces(writtenNumbers(allPieces(readable(text)))).map(({ value }) => value);

/** @returns whether two numbers are the same quantity: in their marks, and in their units where both have one */
export function areEqual(a: WrittenNumber, b: WrittenNumber): boolean {
  if (a.mark !== b.mark) return false;
  if (a.unit && b.unit) return a.unit.kind === b.unit.kind && inBase(a.value, a.unit) === inBase(b.value, b.unit);
  if (a.share !== undefined && b.share !== undefined) return a.share === b.share;
  // 50 % is a half as well, where the other side writes it so.
  return a.value === b.value || a.share === b.value || b.share === a.value;
}

const inBase = (value: string, { factor: [top, bottom] }: NumberUnit): string => times(value, top, bottom) ?? value;

function numberOf(match: RegExpExecArray): WrittenNumber | undefined {
  const groups = match.groups as Record<string, string | undefined>;
  const {
    before,
    open,
    sign,
    compound,
    mixed,
    top,
    bottom,
    whole,
    e,
    power,
    raised,
    percent,
    scale,
    dozen,
    currency,
    symbol,
    dash,
  } = groups;
  const mark = `${groups.mark?.trim() ?? ''}${symbol?.trim() ?? ''}`;
  // A formula between two `$` has no currency.
  const isFormula = match.input[match.index + match[0].length] === '$';
  const unit =
    groups.unit !== undefined ? unitOf(groups.unit) : currency === undefined || isFormula ? undefined : unitOf(currency);
  const place = { start: match.index, end: match.index + match[0].length, mark, ...(unit && { unit }) };
  if (compound !== undefined) return { ...place, value: compoundOf(compound) };
  const isNegative = before !== undefined || open !== undefined || sign === '-';
  if (top !== undefined && bottom !== undefined) {
    const value = fraction(BigInt(mixed ?? 0), BigInt(top), BigInt(bottom), isNegative);
    // A division by zero is two numbers, and no value.
    return value === undefined ? undefined : { ...place, value };
  }
  if (whole === undefined) return undefined;
  if (raised !== undefined) return raisedOf(withPointOf(whole), Number(raised), isNegative, place);
  const tens = Number(e ?? power ?? 0) + (scale === undefined ? 0 : powerOf(scale));
  const value = decimal(dash === undefined ? withPointOf(whole) : whole.replaceAll(/\D/g, ''), tens, isNegative);
  if (dozen !== undefined) return { ...place, value: times(value, 12n, 1n) ?? value };
  return {
    ...place,
    value,
    ...(percent === undefined ? {} : { share: decimal(withPointOf(whole), tens - (percent === '‰' ? 3 : 2), isNegative) }),
  };
}

/** Bounds a power that is worked out; a larger one is compared as it is written. */
const MAX_POWER = 64;

function raisedOf(
  base: string,
  exponent: number,
  isNegative: boolean,
  place: Omit<WrittenNumber, 'value'>,
): WrittenNumber | undefined {
  if (base === '10') return { ...place, value: decimal('1', exponent, isNegative) };
  if (Math.abs(exponent) > MAX_POWER || !/^\d{1,6}$/.test(base))
    return { ...place, mark: `${place.mark}^${exponent}`, value: decimal(base, 0, isNegative) };
  const all = BigInt(base) ** BigInt(Math.abs(exponent));
  const value = exponent < 0 ? fraction(0n, 1n, all, isNegative) : decimal(String(all), 0, isNegative);
  return value === undefined ? undefined : { ...place, value };
}

const padded = (part: string): string => part.padStart(2, '0');

/** A date as `2024-01-05` where only one order is possible, a time as `14:05`, what is neither as it is written. */
function compoundOf(written: string): string {
  const [, hour, rest = '', half] = /^(\d{1,2})((?::\d{2})+)(?:\s?([ap])\.?m)?$/i.exec(written) ?? [];
  if (hour !== undefined) {
    const isAfternoon = half?.toLowerCase() === 'p';
    return `${padded(String(half === undefined ? Number(hour) : (Number(hour) % 12) + (isAfternoon ? 12 : 0)))}${rest}`;
  }
  const [, a = '', separator, b = '', c = ''] = /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})$/.exec(written) ?? [];
  if (a.length === 4) return `${a}-${padded(b)}-${padded(c)}`;
  if (c.length !== 4 || a.length > 2) return written;
  if (separator === '.' || Number(a) > 12) return `${c}-${padded(b)}-${padded(a)}`;
  return Number(b) > 12 ? `${c}-${padded(a)}-${padded(b)}` : written;
}

/** A value that {@link decimal} or {@link fraction} gave, times a fraction; undefined for one that is no plain number. */
function times(value: string, top: bigint, bottom: bigint): string | undefined {
  const [, sign, whole = '', part = '', below = '1'] = /^(-?)(\d{1,400})(?:\.(\d{1,400})|\/(\d{1,400}))?$/.exec(value) ?? [];
  if (whole === '') return undefined;
  return fraction(0n, BigInt(whole + part) * top, BigInt(below) * 10n ** BigInt(part.length) * bottom, sign === '-');
}

const powerOf = (word: string): number => SCALES.find(([words]) => new RegExp(`^(?:${words})$`, 'u').test(word))?.[1] ?? 0;

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
