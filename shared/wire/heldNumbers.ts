/** The powers of ten that a double holds. */
const POWERS = Array.from({ length: 23 }, (_, power) => 10 ** power);
/** The factor of a double for the distance to the next one, rounded to it: S. M. Rump and others, 2009. */
const NEXT = 2 ** -53 * (1 + 2 ** -52);
/** Cuts a double into two halves whose products are exact: T. J. Dekker, 1971. */
const HALVES = 2 ** 27 + 1;
/** In units of the last digit; the errors of rounding below are a thousandth of it. */
const MARGIN = 1e-6;

const ZERO = 48;
const POINT = 46;
const MINUS = 45;
const PLUS = 43;

/**
 * The place after the number of JSON that begins at `start`; the complement (`~`) of it where the double nearest to the number may be printed as another
 * number. Of doubles that JavaScript or Python have printed, one in a thousand is among these. By arithmetic alone: to print a double takes ten times as long.
 */
export function endOfHeldNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let head = 0; // the first eight digits
  let tail = 0; // the others
  let digits = 0; // from the first one that is not 0
  let fraction = 0; // of them, and of zeros before them, those after the point
  let isFraction = false;
  for (; ; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (isFraction) fraction++;
      if (digits > 0 || digit > 0) digits++;
      if (digits <= 8) head = head * 10 + digit;
      else tail = tail * 10 + digit;
    } else if (digit === POINT - ZERO && !isFraction) isFraction = true;
    else break;
  }
  if ((text.charCodeAt(at) | 0x20) === 0x65) {
    // e or E
    let exponent = 0;
    const sign = text.charCodeAt(++at);
    if (sign === MINUS || sign === PLUS) at++;
    for (let digit = text.charCodeAt(at) - ZERO; digit >= 0 && digit <= 9; digit = text.charCodeAt(++at) - ZERO)
      exponent = exponent * 10 + digit;
    fraction += sign === MINUS ? exponent : -exponent;
  }
  return isHeldNumber(head, tail, digits, fraction) ? at : ~at;
}

function isHeldNumber(head: number, tail: number, digits: number, fraction: number): boolean {
  // A double has 15 digits everywhere, unless it is very small or large.
  if (digits <= 15) return fraction > -250 && fraction < 250;
  if (digits > 17) return false;
  const tailScale = digits === 16 ? 1e8 : 1e9;
  if (fraction === 0) return head * tailScale + tail <= Number.MAX_SAFE_INTEGER;
  const scale = POWERS[fraction];
  return scale !== undefined && isPrintedAgain(head * tailScale, tail, scale);
}

/**
 * True when the double nearest to (head + tail) / scale is surely printed with these 16 or 17 digits. A double is printed as the decimal nearest to it among
 * the shortest that are read as this double. So the digits must be nearest, and no shorter number, a multiple of ten, may be in the double's interval.
 */
function isPrintedAgain(head: number, tail: number, scale: number): boolean {
  let double = (head + tail) / scale;
  double += excess(head, tail, double, scale) / scale; // now the nearest one, or next to it
  const over = excess(head, tail, double, scale);
  const halfAbove = ((double + double * NEXT - double) / 2) * scale;
  const halfBelow = ((double - (double - double * NEXT)) / 2) * scale;
  const last = tail % 10;
  return (
    Math.abs(over) < Math.min(halfAbove, halfBelow, 0.5) - MARGIN && Math.min(last - over, 10 - last + over) > halfAbove + MARGIN
  );
}

/** By how much head + tail is more than double * scale, whose product is taken exactly. */
function excess(head: number, tail: number, double: number, scale: number): number {
  const product = double * scale;
  const doubleHigh = HALVES * double - (HALVES * double - double);
  const doubleLow = double - doubleHigh;
  const scaleHigh = HALVES * scale - (HALVES * scale - scale);
  const scaleLow = scale - scaleHigh;
  const rounded = product - doubleHigh * scaleHigh - doubleLow * scaleHigh - doubleHigh * scaleLow;
  return head - product + tail - (doubleLow * scaleLow - rounded);
}
