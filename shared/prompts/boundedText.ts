/** Characters of one text that is built out of parts: a rendered template, the prompt of a judge. The largest context windows hold half of it. */
export const MAX_TEXT = 8 * 1024 * 1024;
/** The same of all texts of one prompt. */
export const MAX_PROMPT = 2 * MAX_TEXT;

/** A text that was to be built would be larger, or cost more, than it may. The message says which text, and how large it may be. */
export class TextTooLarge extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TextTooLarge';
  }
}

/** Characters that may still be built. Texts that make up one answer or prompt share one. */
export class TextBudget {
  readonly #what: string;
  readonly #most: number;
  #taken = 0;

  /** @param what is built, for the message of the error */
  constructor(what: string, most: number) {
    this.#what = what;
    this.#most = most;
  }

  /** To be called before the text is built. @throws TextTooLarge */
  take(characters: number): void {
    this.#taken += characters;
    if (this.#taken > this.#most) throw new TextTooLarge(`${this.#what} would be larger than ${this.#most / (1024 * 1024)} MiB`);
  }
}

/**
 * The text with each match replaced, as `replaceAll` does, but no larger than `budget` allows: a short text with many matches and a long
 * replacement would take all memory before its size could be looked at.
 * @param pattern with the flag `g`
 * @throws TextTooLarge
 */
export function replaceWithin(
  text: string,
  pattern: RegExp,
  replacement: (match: RegExpExecArray) => string,
  budget: TextBudget,
): string {
  const pieces: string[] = [];
  let from = 0;
  const add = (piece: string) => {
    budget.take(piece.length);
    pieces.push(piece);
  };
  for (const match of text.matchAll(pattern)) {
    add(text.slice(from, match.index));
    add(replacement(match));
    from = match.index + match[0].length;
  }
  add(text.slice(from));
  return pieces.join('');
}
