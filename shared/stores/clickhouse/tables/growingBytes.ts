import { bytePool } from '../../../concurrency/bytePool.ts';

/** The buffers that a block has at the moment. */
export type Memory = Set<Buffer>;

const nothing = Buffer.alloc(0);

/** Bytes that grow at their end, in the forms of ClickHouse's format `Native`. */
export class GrowingBytes {
  readonly #memory: Memory;
  #buffer: Buffer = nothing;
  #size = 0;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  reserve(more: number): void {
    if (this.#size + more > this.#buffer.length) this.#grow(this.#size + more);
  }

  #grow(size: number): void {
    const larger = bytePool.take(Math.max(2 * this.#buffer.length, size));
    this.#buffer.copy(larger, 0, 0, this.#size);
    if (this.#memory.delete(this.#buffer)) bytePool.give(this.#buffer);
    this.#memory.add(larger);
    this.#buffer = larger;
  }

  addByte(byte: number): void {
    this.reserve(1);
    this.#buffer[this.#size++] = byte;
  }

  addBytes(bytes: Buffer): void {
    this.reserve(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.#buffer[this.#size++] = bytes[i] as number;
  }

  addZeros(count: number): void {
    this.reserve(count);
    for (let i = 0; i < count; i++) this.#buffer[this.#size++] = 0;
  }

  addInt32(number: number): void {
    this.reserve(4);
    this.#size = this.#buffer.writeInt32LE(number, this.#size);
  }

  /** Numbers to 2^53, where they are exact. */
  addInt64(number: number): void {
    this.reserve(8);
    const high = Math.floor(number / 2 ** 32);
    this.#size = this.#buffer.writeUInt32LE(number - high * 2 ** 32, this.#size);
    this.#size = this.#buffer.writeInt32LE(high | 0, this.#size);
  }

  addBigInt64(number: bigint): void {
    this.reserve(8);
    this.#size = this.#buffer.writeBigInt64LE(number, this.#size);
  }

  addDouble(number: number): void {
    this.reserve(8);
    this.#size = this.#buffer.writeDoubleLE(number, this.#size);
  }

  /** Seven bits a byte, lowest first. */
  addLength(length: number): void {
    this.reserve(5);
    this.#size = this.#writeLength(length, this.#size);
  }

  /** Text after its length in bytes. Half a character of a pair becomes U+FFFD. */
  addText(text: string): void {
    const { length } = text;
    this.reserve(3 * length + 5);
    // Most texts have a byte for each character, and the space that is kept for the length fits.
    const space = lengthBytes(length);
    const start = this.#size + space;
    const bytes = this.#buffer.write(text, start);
    const needed = lengthBytes(bytes);
    if (needed !== space) this.#buffer.copyWithin(this.#size + needed, start, start + bytes);
    this.#size = this.#writeLength(bytes, this.#size) + bytes;
  }

  #writeLength(length: number, at: number): number {
    let rest = length;
    let next = at;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#buffer[next++] = (rest % 128) | 128;
    this.#buffer[next++] = rest;
    return next;
  }

  /** Returns the bytes that were added. The next addition may move them. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }
}

const lengthBytes = (length: number): number => {
  let bytes = 1;
  for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
};
