/**
 * A number of JSON that no double holds, such as an id of 19 digits: `JSON.stringify` and `String` write it as it was sent. Where a number is
 * reckoned with it is its nearest double, `Number(value)`.
 */
export class ExactNumber extends Number {
  readonly #source: string;

  /** @param source as JSON writes it */
  constructor(source: string) {
    super(source);
    this.#source = source;
  }

  override toString(): string {
    return this.#source;
  }

  /** In Node.js before 22 the digits as text. */
  toJSON(): unknown {
    return json.rawJSON?.(this.#source) ?? this.#source;
  }
}

/** JSON with ECMAScript's proposal for the sources of numbers. */
const json = JSON as unknown as { rawJSON?(text: string): unknown };

/** Returns true for such a number: no object to go into, though JavaScript calls it one. */
export const isExact = (value: unknown): value is ExactNumber => value instanceof ExactNumber;
