import { LRUCache } from 'lru-cache';

/** Characters of all answers that are kept with their statements, and of one: a page of 50 records has some 100,000. */
const MAX_CHARACTERS = 4_000_000;
const MAX_ANSWER_CHARACTERS = 500_000;

/**
 * Answers of the engine to statements that were asked since the last write, for as long as there is no other: who refreshes a page, or goes back to it,
 * asks nothing anew. All of them go when the first answer after a write is kept.
 */
export class KeptAnswers {
  readonly #texts = new LRUCache<string, string>({
    maxSize: MAX_CHARACTERS,
    maxEntrySize: MAX_ANSWER_CHARACTERS,
    sizeCalculation: (text, statement) => statement.length + text.length,
  });
  #writeMark: number | undefined;

  /** @param writeMark of the store now; undefined where nothing can be said of its writes */
  get(statement: string, writeMark: number | undefined): string | undefined {
    return writeMark !== undefined && writeMark === this.#writeMark ? this.#texts.get(statement) : undefined;
  }

  /** @param writeMark of the store before the statement was sent, and still after its answer */
  keep(statement: string, text: string, writeMark: number): void {
    if (writeMark !== this.#writeMark) {
      this.#texts.clear();
      this.#writeMark = writeMark;
    }
    this.#texts.set(statement, text);
  }
}
