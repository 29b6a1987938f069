/** Characters of all answers that are kept, and of one: a page of 50 records has some 100,000. */
const MAX_CHARACTERS = 4_000_000;
const MAX_ANSWER_CHARACTERS = 500_000;

/**
 * Answers of the engine to statements that were asked since the last write, for as long as there is no other: who refreshes a page, or goes back to it,
 * asks nothing anew. All of them go with the first look after a write.
 */
export class KeptAnswers {
  /** In the order in which they were asked for: the first is the oldest. */
  readonly #texts = new Map<string, string>();
  #characters = 0;
  #writeMark: number | undefined;

  /** @param writeMark of the store now; undefined where nothing can be said of its writes */
  get(statement: string, writeMark: number | undefined): string | undefined {
    if (writeMark === undefined || writeMark !== this.#writeMark) return undefined;
    const text = this.#texts.get(statement);
    if (text !== undefined) {
      this.#texts.delete(statement);
      this.#texts.set(statement, text);
    }
    return text;
  }

  /** @param writeMark of the store before the statement was sent, and still after its answer */
  keep(statement: string, text: string, writeMark: number): void {
    if (writeMark !== this.#writeMark) {
      this.#texts.clear();
      this.#characters = 0;
      this.#writeMark = writeMark;
    }
    if (text.length > MAX_ANSWER_CHARACTERS || this.#texts.has(statement)) return;
    this.#texts.set(statement, text);
    this.#characters += statement.length + text.length;
    for (const [oldest, { length }] of this.#texts) {
      if (this.#characters <= MAX_CHARACTERS) break;
      this.#texts.delete(oldest);
      this.#characters -= oldest.length + length;
    }
  }
}
