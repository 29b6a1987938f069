/** Pieces are powers of two from 4 KiB to 16 MiB; larger ones are rare and not kept, or one of them would take the room of all others for good. */
const SMALLEST = 12;
const LARGEST = 24;
const KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Buffers that are used again. Fresh ones cost a page fault for every 4 KiB, and V8 collects its whole heap for each 64 MB of them, however little
 * of it is garbage: at 10,000 records a second several times a second.
 */
class BytePool {
  readonly #free: Buffer[][] = Array.from({ length: LARGEST + 1 }, () => []);
  #kept = 0;

  /** At least so many bytes, with anything in them. */
  take(size: number): Buffer {
    const power = Math.max(SMALLEST, Math.ceil(Math.log2(size)));
    if (power > LARGEST) return Buffer.allocUnsafeSlow(size);
    const known = this.#free[power]?.pop();
    if (known) this.#kept -= known.length;
    return known ?? Buffer.allocUnsafeSlow(2 ** power);
  }

  /** Takes back a buffer of `take` that no code reads any more. */
  give(buffer: Buffer): void {
    const power = Math.log2(buffer.length);
    if (!Number.isInteger(power) || power > LARGEST || this.#kept + buffer.length > KEPT_BYTES) return;
    this.#kept += buffer.length;
    this.#free[power]?.push(buffer);
  }
}

export const bytePool = new BytePool();
