import { freeTurn } from '../shared/concurrency/freeTurn.ts';

/** Characters that are made before others are let in: well under a millisecond. */
const PIECE_LENGTH = 64 * 1024;

/**
 * What `JSON.stringify` makes of an answer, element by element of its lists: the event loop goes on between them, where a page of 32 MiB would hold it for
 * a quarter of a second. Libraries that write JSON as a stream go through each value in JavaScript; here `JSON.stringify` writes all but the outermost
 * two levels. It goes when Node.js has one that lets others in.
 */
export async function jsonInPieces(answer: unknown): Promise<string> {
  if (Array.isArray(answer)) return listInPieces(answer);
  if (typeof answer !== 'object' || answer === null || 'toJSON' in answer) return JSON.stringify(answer) ?? 'null';
  const pieces: string[] = [];
  for (const [key, value] of Object.entries(answer)) {
    const text = Array.isArray(value) ? await listInPieces(value) : JSON.stringify(value);
    if (text !== undefined) pieces.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${pieces.join(',')}}`;
}

async function listInPieces(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  let length = 0;
  for (const element of list) {
    const text = JSON.stringify(element) ?? 'null';
    pieces.push(text);
    length += text.length;
    if (length < PIECE_LENGTH) continue;
    length = 0;
    await freeTurn();
  }
  return `[${pieces.join(',')}]`;
}
