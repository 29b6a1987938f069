import { endOfText } from './endOfText.ts';
import { endOfHeldNumber } from './heldNumbers.ts';

// JSON whose numbers a double does not hold, in any runtime: `JSON.parse` gives the sources of numbers in some only, calls itself for each level of
// nesting then, and takes five times as long.

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=\s*(?:[,}\]]|$))/y;
const [QUOTE, MINUS, ZERO, NINE] = ['"', '-', '0', '9'].map((character) => character.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
];

let ownMark: string | undefined;

/** Begins texts that replace numbers for a moment. It is random, so that no client can send one; edge runtimes have no randomness while a module loads. */
function markOfNumbers(): string {
  ownMark ??= crypto.getRandomValues(new BigUint64Array(1)).join('');
  return ownMark;
}

/**
 * The value of a JSON text.
 * @param numberOf gives the value of a number that JavaScript would write otherwise than it is written there; called in the order of the text
 * @param takesAll whether it is asked for every such number, as for `1.50`, not only for those that a double may not hold
 * @throws SyntaxError
 */
export function parseNumbers(text: string, numberOf: (source: string, double: number) => unknown, takesAll = false): unknown {
  const mark = markOfNumbers();
  const values: unknown[] = [];
  const pieces: string[] = [];
  let written = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const start = at;
      const end = endOfHeldNumber(text, start);
      at = (end < 0 ? ~end : end) - 1;
      if (end >= 0 && !takesAll) continue;
      const source = text.slice(start, at + 1);
      const double = Number(source);
      if (String(double) === source) continue;
      // A text in place of what is no number, or no value, would make other JSON than was sent.
      NUMBER.lastIndex = start;
      if (NUMBER.exec(text)?.[0] !== source) continue;
      const value = numberOf(source, double);
      if (value === double) continue;
      pieces.push(text.slice(written, start), `"${mark}:${values.push(value) - 1}"`);
      written = at + 1;
    }
  }
  if (values.length === 0) return JSON.parse(text);
  let read: unknown;
  try {
    read = JSON.parse(pieces.join('') + text.slice(written));
  } catch {
    return JSON.parse(text); // which says where it is wrong
  }
  return withValues(read, values, mark);
}

/** Puts values where their marks stand. Iterative: depth costs no stack. */
function withValues(read: unknown, values: readonly unknown[], mark: string): unknown {
  const whole = { value: read };
  const open = [whole as Record<string, unknown>];
  for (let container = open.pop(); container; container = open.pop())
    for (const key of Object.keys(container)) {
      const inner = container[key];
      if (typeof inner === 'string') {
        if (inner.startsWith(mark)) container[key] = values[Number(inner.slice(mark.length + 1))];
      } else if (typeof inner === 'object' && inner !== null) open.push(inner as Record<string, unknown>);
    }
  return whole.value;
}

/** Returns true when a JSON number is the very value of the double that is nearest to it, as `0.10` and `1E2` are. */
export function isHeld(source: string, double: number): boolean {
  const printed = String(double);
  if (printed === source) return true;
  if (isWhole(source) && isWhole(printed) && double !== 0) return false;
  return Number.isFinite(double) && decimalOf(source) === decimalOf(printed);
}

/** The digits of a number without zeros around them, and the power of ten of the last one. */
function decimalOf(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const short = withoutZerosAtEnd(digits);
  return short === '' ? '0' : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

export const isWhole = (source: string): boolean => /^-?\d+$/.test(source);

/**
 * The value of a JSON text as code of callers gets it: a whole number that a double would round is a bigint, a longer fraction the nearest double.
 * @throws SyntaxError
 */
export const parseWithBigInts = (text: string): unknown =>
  parseNumbers(text, (source, double) => (isWhole(source) && !isHeld(source, double) ? BigInt(source) : double));

/** JSON in which large integers of JavaScript are numbers with all their digits. @param replacer and `space` as of `JSON.stringify` */
export function jsonWithBigInts(
  value: unknown,
  replacer?: (this: unknown, key: string, value: unknown) => unknown,
  space?: number,
): string {
  const mark = markOfNumbers();
  let isMarked = false;
  const text = JSON.stringify(
    value,
    function (this: unknown, key: string, given: unknown) {
      const inner = replacer ? replacer.call(this, key, given) : given;
      if (typeof inner !== 'bigint') return inner;
      isMarked = true;
      return `${mark}:${inner}`;
    },
    space,
  );
  return isMarked ? text.replaceAll(new RegExp(`"${mark}:(-?\\d+)"`, 'g'), '$1') : text;
}
