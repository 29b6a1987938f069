import { isHeld, isWhole, parseNumbers } from '../wire/longNumbers.ts';

/**
 * Parses a JSON text so that its numbers are written again with the very digits that they have.
 * @throws SyntaxError
 */
export const parseExactly = (text: string): unknown =>
  parseNumbers(text, (source, double) => {
    if (isHeld(source, double)) return double;
    return isWhole(source) ? BigInt(source) : (json.rawJSON?.(source) ?? source);
  });

const json = JSON as unknown as { rawJSON?(text: string): unknown };
