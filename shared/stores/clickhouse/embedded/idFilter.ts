/** Bits for each id, of which an id sets {@link PROBES}: of a million ids that were not added, six are taken for added ones. */
const BITS_PER_ID = 32;
const PROBES = 8;
/** Ids of the first layer; each further one has room for {@link GROWTH} times as many as the one before. */
const FIRST_LAYER = 1024;
const GROWTH = 4;

interface Layer {
  bits: Uint32Array;
  room: number;
}

/**
 * A Bloom filter for UUIDs that grows: it knows surely that an id was not added, and 4 to 5 bytes an id are enough for that. Libraries
 * (`bloom-filters`) hash any text, at several times the time, and do not grow.
 */
export class IdFilter {
  readonly #layers: Layer[] = [];
  #ids = 0;

  /** Ids that were added, each once. */
  get size(): number {
    return this.#ids;
  }

  get bytes(): number {
    return this.#layers.reduce((sum, { bits }) => sum + bits.byteLength, 0);
  }

  /** @param id the text of a UUID */
  add(id: string): void {
    read(id);
    this.#addRead();
  }

  /** @param bytes of UUIDs, 16 for each, in the order of their texts */
  addBytes(bytes: Buffer): void {
    for (let at = 0; at + 16 <= bytes.length; at += 16) {
      mix(bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4), bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12));
      this.#addRead();
    }
  }

  /** False where the id was not added. */
  mayHave(id: string): boolean {
    read(id);
    return this.#mayHaveRead();
  }

  #addRead(): void {
    if (this.#mayHaveRead()) return;
    let layer = this.#layers.at(-1);
    if (!layer || layer.room === 0) {
      const room = FIRST_LAYER * GROWTH ** this.#layers.length;
      layer = { bits: new Uint32Array((room * BITS_PER_ID) / 32), room };
      this.#layers.push(layer);
    }
    layer.room--;
    this.#ids++;
    const { bits } = layer;
    const mask = bits.length * 32 - 1;
    let at = first;
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = at & mask;
      bits[bit >>> 5] = (bits[bit >>> 5] as number) | (1 << (bit & 31));
      at = (at + step) | 0;
    }
  }

  #mayHaveRead(): boolean {
    for (const { bits } of this.#layers) if (hasRead(bits)) return true;
    return false;
  }
}

function hasRead(bits: Uint32Array): boolean {
  const mask = bits.length * 32 - 1;
  let at = first;
  for (let probe = 0; probe < PROBES; probe++) {
    const bit = at & mask;
    if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
    at = (at + step) | 0;
  }
  return true;
}

// `mix` leaves the bits of the last id here: the first one, and the distance between them. An object for each id would cost more than its bits.
let first = 0;
let step = 1;

/**
 * Ids are mostly random, but a caller may count them: every bit of them changes half of the bits of both. Neither follows from the other, or of a million
 * ids 200 would be taken for others.
 */
function mix(a: number, b: number, c: number, d: number): void {
  first = scattered(a ^ scattered(b ^ scattered(c ^ scattered(d))));
  step = scattered(d ^ scattered(c ^ scattered(b ^ scattered(a ^ 0x9e3779b9)))) | 1;
}

/** The last step of MurmurHash3. */
function scattered(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function read(id: string): void {
  mix(hex(id, 0, 8), (hex(id, 9, 13) << 16) | hex(id, 14, 18), (hex(id, 19, 23) << 16) | hex(id, 24, 28), hex(id, 28, 36));
}

/** Digits as a number; letters of both cases are the same digits. */
function hex(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    number = (number << 4) | ((code & 15) + (code > 57 ? 9 : 0));
  }
  return number;
}
