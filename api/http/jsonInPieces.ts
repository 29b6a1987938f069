import { freeTurn } from '../../shared/concurrency/freeTurn.ts';

/** Characters that are made before others are let in: well under a millisecond. */
const PIECE_LENGTH = 64 * 1024;

/**
 * The bytes of what `JSON.stringify` makes of an answer, element by element of its lists: the event loop goes on between them, where a page of 32 MiB would
 * hold it for a quarter of a second. They stay in pieces, since one text of all is copied twice more before it is sent, for 30 ms. Libraries that write
 * JSON as a stream go through each value in JavaScript; here `JSON.stringify` writes all but the outermost two levels. It goes when Node.js has one that
 * lets others in.
 */
export async function jsonInPieces(answer: unknown): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let texts: string[] = [];
  let length = 0;
  const endPiece = () => {
    pieces.push(Buffer.from(texts.join('')));
    texts = [];
    length = 0;
  };
  for (const text of textsOf(answer)) {
    texts.push(text);
    length += text.length;
    if (length < PIECE_LENGTH) continue;
    endPiece();
    await freeTurn();
  }
  if (texts.length > 0) endPiece();
  return pieces;
}

function* textsOf(answer: unknown): Generator<string, void> {
  if (Array.isArray(answer)) yield* textsOfList(answer);
  else if (typeof answer !== 'object' || answer === null || 'toJSON' in answer) yield JSON.stringify(answer) ?? 'null';
  else yield* textsOfObject(answer);
}

function* textsOfObject(answer: object): Generator<string, void> {
  let isFirst = true;
  for (const [key, value] of Object.entries(answer)) {
    const isList = Array.isArray(value);
    const text = isList ? '' : JSON.stringify(value);
    if (text === undefined) continue;
    yield `${isFirst ? '{' : ','}${JSON.stringify(key)}:${text}`;
    if (isList) yield* textsOfList(value);
    isFirst = false;
  }
  yield isFirst ? '{}' : '}';
}

function* textsOfList(list: readonly unknown[]): Generator<string, void> {
  let isFirst = true;
  for (const element of list) {
    yield `${isFirst ? '[' : ','}${JSON.stringify(element) ?? 'null'}`;
    isFirst = false;
  }
  yield isFirst ? '[]' : ']';
}
