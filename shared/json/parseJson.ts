import { ExactNumber } from '../wire/exactNumber.ts';
import { isHeld, isWhole, parseNumbers } from '../wire/longNumbers.ts';

/**
 * The value of a JSON text, for all that callers send and store: a number that no double holds is an `ExactNumber`, so that `JSON.stringify` writes what was
 * sent. A whole number of 22 or more digits is one as well, since a double would be written with an exponent.
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown =>
  parseNumbers(text, (source, double) =>
    isHeld(source, double) && !(isWhole(source) && Math.abs(double) >= 1e21) ? double : new ExactNumber(source),
  );

/** As `parseJson`, of the text that Postgres makes of its JSON: it writes large doubles without an exponent. */
export const parseJsonb = (text: string): unknown =>
  parseNumbers(text, (source, double) => (isHeld(source, double) ? double : new ExactNumber(source)));

/** As `parseJson`, with every number as it is written: `1.50` stays so. */
export const parseAsWritten = (text: string): unknown => parseNumbers(text, (source) => new ExactNumber(source), true);

/** As `parseJson`; undefined where the text is no JSON. */
export function parsedOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
