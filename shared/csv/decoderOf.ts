/** A file is no text that can be read, and what to do about it. */
export class NoText extends Error {
  override name = 'NoText';
}

/** Bytes at the beginning of a file by which its kind is known. */
export const KIND_BYTES = 64;

const UNPACK = 'unpack it first';
const kinds: readonly [what: string, beginning: string, remedy: string][] = [
  ['a Parquet file', 'PAR1', 'name it as one for the command, which reads Parquet, or send the same table as csv, jsonl or json'],
  ['a Feather or Arrow file', 'ARROW1', 'send the same table as csv, jsonl or json'],
  ['an Excel workbook or a zip archive', 'PK\x03\x04', 'save the sheet as CSV UTF-8, or unpack the archive first'],
  ['an Excel workbook', '\xd0\xcf\x11\xe0', 'save the sheet as CSV UTF-8'],
  ['compressed by gzip', '\x1f\x8b', UNPACK],
  ['compressed by Zstandard', '\x28\xb5\x2f\xfd', UNPACK],
  ['compressed by bzip2', 'BZh', UNPACK],
  ['UTF-32', '\xff\xfe\0\0', 'save it as UTF-8'],
];

/**
 * Reads the text of a file in pieces, without its byte order mark: UTF-8, or UTF-16 where a byte order mark says so, as spreadsheets save "Unicode text".
 * Its `decode` throws a TypeError for bytes that are no such text, of which {@link notIn} is what to say.
 * @param head the first {@link KIND_BYTES} of the file, or all of it
 * @throws NoText for the beginning of a file of another kind
 */
export function decoderOf(head: Uint8Array): InstanceType<typeof TextDecoder> {
  const beginning = String.fromCharCode(...head.subarray(0, KIND_BYTES));
  const kind = kinds.find(([, start]) => beginning.startsWith(start));
  if (kind) throw new NoText(`the file is ${kind[0]}: ${kind[2]}`);
  if (/^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)/i.test(beginning))
    throw new NoText('the file is an HTML page, such as a login or an error that was saved in place of the data');
  const encoding = /^\xff\xfe/.test(beginning) ? 'utf-16le' : /^\xfe\xff/.test(beginning) ? 'utf-16be' : 'utf-8';
  if (encoding === 'utf-8' && beginning.slice(0, 4).includes('\0'))
    throw new NoText('the file begins with NUL bytes, as UTF-16 without a byte order mark does: save it as UTF-8');
  return new TextDecoder(encoding, { fatal: true });
}

export const notIn = (encoding: string): string =>
  encoding === 'utf-8'
    ? 'the file is not UTF-8 text: save it as UTF-8'
    : 'the file is not whole UTF-16 text, as its byte order mark says';
