import protobuf from 'protobufjs';
import { ExactNumber } from '../wire/exactNumber.ts';

/** Reads fields one by one. `len` is the end of the message that it is in. */
export type Reader = protobuf.Reader & { buf: Buffer };

const LENGTH_DELIMITED = 2;

/** Returns what stands before the value of each field of a message: its number and how the value is written. */
export function tagsOf(root: protobuf.Root, message: string): Readonly<Record<string, number>> {
  const wireTypes: Readonly<Record<string, number>> = protobuf.types.basic;
  return Object.fromEntries(
    root.lookupType(message).fieldsArray.map((field) => {
      const { resolvedType } = field.resolve();
      const type = resolvedType instanceof protobuf.Enum ? 'int32' : field.type;
      return [field.name, (field.id << 3) | (wireTypes[type] ?? LENGTH_DELIMITED)];
    }),
  );
}

/** Goes into a message; what is returned is for {@link leave}. */
export function enter(from: Reader): number {
  const end = from.uint32() + from.pos;
  const outer = from.len;
  if (end > outer) throw new RangeError('a message ends behind the one around it');
  from.len = end;
  return outer;
}

export function leave(from: Reader, outer: number): void {
  if (from.pos !== from.len) throw new RangeError('a field ends behind its message');
  from.len = outer;
}

export function skip(from: Reader, tag: number): void {
  from.skipType(tag & 7, 0, tag >>> 3);
}

/** Where the bytes of a field begin; the reader is then behind them. */
function startOfBytes(from: Reader): number {
  const length = from.uint32();
  const start = from.pos;
  if (start + length > from.len) throw new RangeError('a field ends behind its message');
  from.pos = start + length;
  return start;
}

export function readHex(from: Reader): string {
  const start = startOfBytes(from);
  return from.buf.toString('hex', start, from.pos);
}

/** Reads a text. Bytes that are no UTF-8 become U+FFFD. */
export function readText(from: Reader): string {
  const start = startOfBytes(from);
  return from.buf.toString('utf8', start, from.pos);
}

export function readFixed64(from: Reader): bigint {
  const start = from.pos;
  if (start + 8 > from.len) throw new RangeError('a field ends behind its message');
  from.pos = start + 8;
  return from.buf.readBigUInt64LE(start);
}

/** A double where one holds the number. */
export function wholeNumber(value: protobuf.Long): number | ExactNumber {
  const number = value.high * 2 ** 32 + (value.low >>> 0);
  return Number.isSafeInteger(number)
    ? number
    : new ExactNumber(((BigInt(value.high) << 32n) | BigInt(value.low >>> 0)).toString());
}

/** Short texts that come again and again, such as the names of attributes: each is made once, as long as no other takes its place. */
export class KnownTexts {
  readonly #slots: { bytes: Buffer; text: string }[] = [];

  read(from: Reader): string {
    const start = startOfBytes(from);
    const { buf, pos: end } = from;
    if (end - start > MAX_KNOWN) return buf.toString('utf8', start, end);
    let hash = 0;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (buf[at] as number)) | 0;
    const slot = hash & (SLOTS - 1);
    const known = this.#slots[slot];
    if (known && isAt(buf, start, end, known.bytes)) return known.text;
    const text = buf.toString('utf8', start, end);
    this.#slots[slot] = { bytes: Buffer.from(buf.subarray(start, end)), text };
    return text;
  }
}

const MAX_KNOWN = 64;
const SLOTS = 1_024;

function isAt(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  if (end - start !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}
