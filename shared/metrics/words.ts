import type { Pieces } from '../concurrency/pieces.ts';

/** Words between two yields: about 0.2 ms. */
const WORDS_PER_PIECE = 1_000;
/** The same of words that have to be segmented, which takes some 10 µs a word. */
const SEGMENTS_PER_PIECE = 50;

/**
 * Letters and digits with their marks (vowel signs are a part of the word) and joiners, and what names have at their ends, as in C++, C# and .NET.
 * Signs such as currencies, emoji, a minus and a percent sign are words of their own; punctuation is none.
 */
const WORD =
  /(?:(?<=^|[\s([{"'])\.(?=\p{L}))?[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}\u200c\u200d]*(?:(?<=\p{L})(?:\+\+|[+#](?![\p{L}\p{N}+#])))?|[\p{Sc}\p{Sm}\p{So}]|(?<=^|[\s([{"'])-(?=[\p{N}\p{Sc}])|(?<=\p{N}\s?)[%‰]/gu;

/** Scripts that write no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** The locale is fixed, so that a text has the same words on every machine. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Text in the form in which texts that read alike are equal: composed, without the selectors of an emoji's style. */
export const normalized = (text: string): string => text.normalize('NFC').replace(/[\ufe0e\ufe0f]/g, '');

/** The words of a text in any script, in lower case. */
export function* wordsIn(text: string): Pieces<string[]> {
  const words: string[] = [];
  for (const [run] of normalized(text.toLowerCase()).matchAll(WORD)) {
    const isUnspaced = UNSPACED.test(run);
    for (const word of isUnspaced ? segmentsOf(run) : [run]) {
      words.push(word);
      if (words.length % (isUnspaced ? SEGMENTS_PER_PIECE : WORDS_PER_PIECE) === 0) yield;
    }
  }
  return words;
}

function* segmentsOf(run: string): Generator<string> {
  for (const { segment } of segmenter.segment(run)) yield segment;
}
