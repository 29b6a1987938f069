/**
 * A seeded source of random 32-bit numbers: sfc32 of PractRand, which passes its tests at any length. The same seed gives the same numbers on every
 * machine, so a comparison that is made twice has the same figures.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9 | 0;
    // Nearby seeds are unlike each other after this many numbers.
    this.fill(new Uint32Array(16));
  }

  /**
   * Fills the list. The state is in variables meanwhile, which are known to be 32 bits from the start: a number takes 1 ns so, and six without either.
   */
  fill(words: Uint32Array): void {
    let a = this.#a | 0;
    let b = this.#b | 0;
    let c = this.#c | 0;
    let counter = this.#counter | 0;
    for (let index = 0; index < words.length; index++) {
      const word = (((a + b) | 0) + counter) | 0;
      counter = (counter + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (c << 21) | (c >>> 11);
      c = (c + word) | 0;
      words[index] = word;
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#counter = counter;
  }

  readonly #buffer = new Uint32Array(1024);
  #used = 1024;

  /** A number in (0, 1), of 32 random bits. */
  fraction(): number {
    if (this.#used === this.#buffer.length) {
      this.fill(this.#buffer);
      this.#used = 0;
    }
    return ((this.#buffer[this.#used++] as number) + 0.5) / 2 ** 32;
  }
}
