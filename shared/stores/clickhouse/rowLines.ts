import { freeTurn } from '../../concurrency/freeTurn.ts';

// Rows as lines of JSON, read and made in pieces between which others are let in.

/** Bytes of an answer that become one text: that of 32 MiB takes 20 to 30 ms. A longer answer becomes text row by row. */
const TEXT_BYTES = 512 * 1024;
/** Bytes of an answer that are read before others are let in: a millisecond or two. A page of 50 records is less. */
const PIECE_BYTES = 256 * 1024;
const NEWLINE = 10;

export function textOrBytes(bytes: Uint8Array): string | Buffer {
  const answer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return answer.length > TEXT_BYTES ? answer : answer.toString();
}

/** The rows of an answer, a line each: one of 32 MiB, or of 50,000 rows, held the event loop for 30 to 60 ms. */
export async function rowsOfLines<T>(answer: string | Buffer, parse: (row: unknown) => T): Promise<T[]> {
  const rows: T[] = [];
  let pieceAt = 0;
  for (let at = 0; at < answer.length; ) {
    const newline = typeof answer === 'string' ? answer.indexOf('\n', at) : answer.indexOf(NEWLINE, at);
    const end = newline === -1 ? answer.length : newline;
    rows.push(parse(JSON.parse(typeof answer === 'string' ? answer.slice(at, end) : answer.toString('utf8', at, end))));
    at = end + 1;
    if (at - pieceAt < PIECE_BYTES) continue;
    pieceAt = at;
    await freeTurn();
  }
  return rows;
}

/** Characters of the rows of an insert that are made before others are let in. */
const INSERT_PIECE_LENGTH = 64 * 1024;

/** Half of a surrogate pair, the only `\ud…` that stringify makes. Other escapes stay. */
const HALF_PAIR = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/** An object as JSON that is text in UTF-8: half of a surrogate pair, for whose escape the engine refuses a row, becomes U+FFFD. */
export function utf8Json(value: object): string {
  const json = JSON.stringify(value);
  return json.includes('\\ud') ? json.replaceAll(HALF_PAIR, (found) => (found === '\\\\' ? found : '\ufffd')) : json;
}

/** Rows of an insert as lines of JSON, in pieces between which others are let in: one of 5,000 rows held the event loop for 15 to 25 ms. */
export async function bytesOfRows(rows: Iterable<object>): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let lines: string[] = [];
  let length = 0;
  const endPiece = () => {
    if (lines.length > 0) pieces.push(Buffer.from(`${lines.join('\n')}\n`));
    lines = [];
    length = 0;
  };
  for (const row of rows) {
    const line = utf8Json(row);
    lines.push(line);
    length += line.length;
    if (length < INSERT_PIECE_LENGTH) continue;
    endPiece();
    await freeTurn();
  }
  endPiece();
  return pieces;
}
