import { crc32 } from 'node:zlib';
import { AttemptFailure } from './failures.ts';

/** A message of an event stream: its headers that are texts, and its payload. */
export interface AwsEvent {
  headers: Readonly<Record<string, string>>;
  payload: Uint8Array;
}

/** Two lengths and their checksum before the headers, a checksum of all after the payload: four bytes each. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** Messages have at most 16 MB of payload and 128 KB of headers. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024 + 128 * 1024 + PRELUDE_BYTES + CHECKSUM_BYTES;
const TEXT_TYPE = 7;
/** Bytes of a header's value by its type; texts and bytes (6, 7) say their own. */
const VALUE_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

/**
 * The messages of `application/vnd.amazon.eventstream`, wherever the bytes are cut.
 * @see https://smithy.io/2.0/aws/amazon-eventstream.html
 * @throws AttemptFailure for a stream that is damaged or ends within a message
 */
export async function* awsEvents(parts: AsyncIterable<Uint8Array>): AsyncGenerator<AwsEvent, void> {
  let chunks: Buffer[] = [];
  let held = 0;
  let wanted = PRELUDE_BYTES;
  for await (const part of parts) {
    chunks.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength));
    held += part.byteLength;
    if (held < wanted) continue;
    let rest = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    wanted = PRELUDE_BYTES;
    while (rest.length >= PRELUDE_BYTES) {
      const size = sizeOf(rest);
      wanted = size;
      if (rest.length < size) break;
      yield read(rest.subarray(0, size));
      rest = rest.subarray(size);
      wanted = PRELUDE_BYTES;
    }
    chunks = rest.length === 0 ? [] : [rest];
    held = rest.length;
  }
  if (held > 0) throw damaged('ends within a message');
}

function sizeOf(message: Buffer): number {
  if (crc32(message.subarray(0, 8)) !== message.readUInt32BE(8)) throw damaged('has a wrong checksum');
  const size = message.readUInt32BE(0);
  if (size > MAX_MESSAGE_BYTES || size < PRELUDE_BYTES + message.readUInt32BE(4) + CHECKSUM_BYTES)
    throw damaged('has a message of an impossible size');
  return size;
}

function read(message: Buffer): AwsEvent {
  const end = message.length - CHECKSUM_BYTES;
  if (crc32(message.subarray(0, end)) !== message.readUInt32BE(end)) throw damaged('has a wrong checksum');
  const payloadAt = PRELUDE_BYTES + message.readUInt32BE(4);
  return { headers: headersIn(message.subarray(PRELUDE_BYTES, payloadAt)), payload: message.subarray(payloadAt, end) };
}

function headersIn(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  let at = 0;
  try {
    while (at < bytes.length) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const name = bytes.toString('utf8', at + 1, nameEnd);
      const type = bytes.readUInt8(nameEnd);
      const fixed = VALUE_BYTES[type];
      const valueAt = nameEnd + 1 + (fixed === undefined ? 2 : 0);
      at = valueAt + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
      if (type === TEXT_TYPE) headers[name] = bytes.toString('utf8', valueAt, at);
    }
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    throw damaged('has headers that cannot be read');
  }
  return headers;
}

const damaged = (what: string) => new AttemptFailure('malformed_answer', `the model endpoint's stream ${what}`, { retry: true });
