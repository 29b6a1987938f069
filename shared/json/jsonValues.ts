import { ServiceError } from '../errors/errors.ts';
import { endOfText } from '../wire/endOfText.ts';

/**
 * Values in one JSON text. Each takes up to 60 bytes of memory, however few characters it has: 4 million are 240 MB, and a text of 64 MiB could hold 30
 * million. A row of a dataset or a span has some 30.
 */
const MAX_VALUES = 4_000_000;

/** Refuses a JSON text whose values would take far more memory than the text. @throws ServiceError `BodyTooLarge` */
export function checkValues(text: string, most = MAX_VALUES): void {
  // A value has at least one character, and one that separates it from the next.
  if (text.length < 2 * most || !isDense(text, most)) return;
  throw new ServiceError('BodyTooLarge', `the body holds more than ${most} JSON values; send less per request`);
}

/** Every value but the first follows a comma or an opening bracket. An empty list or object counts twice, as it takes more than a number. */
const isDense = (text: string, most: number): boolean => countOf(text, most) > most && countOutsideTexts(text, most) > most;

/** Stops soon after `most`. Texts count as well, which is quick to do. */
function countOf(text: string, most: number): number {
  let count = 0;
  for (const mark of [',', '[', '{'])
    for (let at = text.indexOf(mark); at !== -1 && count <= most; at = text.indexOf(mark, at + 1)) count++;
  return count;
}

function countOutsideTexts(text: string, most: number): number {
  let count = 0;
  for (let at = 0; at < text.length && count <= most; at++) {
    const character = text[at];
    if (character === ',' || character === '[' || character === '{') count++;
    else if (character === '"') at = endOfText(text, at);
  }
  return count;
}
