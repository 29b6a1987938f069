import { diffArrays } from 'diff';

/** A piece of two texts. Those that are the same or removed, joined, are the first text; those that are the same or added the second. */
export interface DiffPart {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

export interface TextDiff {
  parts: DiffPart[];
  /** Characters of both texts that are shown as replaced as a whole, since comparing their words would take too long; 0 mostly. */
  notCompared: number;
}

export interface DiffBounds {
  /** Milliseconds for the words, and as many again for the lines where the words took longer. */
  timeoutMs: number;
  /** Characters of each text between its common beginning and end that are compared. */
  most: number;
}

// A letter alone in scripts without spaces between words; a number with its digits behind the point; a word; any other character. Each with the spaces behind it.
const alone = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}';
const word = `\\p{Nd}+(?:[.,]\\p{Nd}+)*|(?:(?![${alone}])[\\p{L}\\p{M}\\p{N}_])+|\\r?\\n|[^]`;
const words = new RegExp(`(?:${word})[^\\S\\r\\n]*`, 'gu');
const lines = /[^\n]*\n|[^\n]+$/g;

/**
 * Finds what two texts have in common, word by word. Their common beginning and end cost next to nothing, however long they are. What is between them is compared
 * by words; where that takes too long, by lines and by words within the lines that changed; and else not at all.
 */
export function textDiff(before: string, after: string, { timeoutMs, most }: DiffBounds): TextDiff {
  const start = commonStart(before, after);
  const end = commonEnd(before, after, start);
  const [one, two] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const [oneRead, twoRead] = [cut(one, most), cut(two, most)];
  const { parts, notCompared } = compared(oneRead, twoRead, timeoutMs);
  const rest = [...part('removed', one.slice(oneRead.length)), ...part('added', two.slice(twoRead.length))];
  const all = [...part('same', before.slice(0, start)), ...parts, ...rest, ...part('same', before.slice(before.length - end))];
  return { parts: joinParts(all), notCompared: notCompared + lengthOf(rest) };
}

const part = (kind: DiffPart['kind'], text: string): DiffPart[] => (text === '' ? [] : [{ kind, text }]);
const lengthOf = (parts: readonly DiffPart[]): number => parts.reduce((sum, { text }) => sum + text.length, 0);

function compared(before: string, after: string, timeoutMs: number): TextDiff {
  const replaced = [...part('removed', before), ...part('added', after)];
  if (replaced.length < 2) return { parts: replaced, notCompared: 0 };
  const byWords = byPieces(before.match(words) ?? [], after.match(words) ?? [], timeoutMs);
  if (byWords) return { parts: byWords, notCompared: 0 };
  const [one, two] = [before.match(lines) ?? [], after.match(lines) ?? []];
  const byLines = one.length > 1 && two.length > 1 ? byPieces(one, two, timeoutMs) : undefined;
  return byLines ? withinLines(byLines, timeoutMs) : { parts: replaced, notCompared: lengthOf(replaced) };
}

/** Compares the words of lines that were replaced, as far as the time goes. */
function withinLines(byLines: readonly DiffPart[], timeoutMs: number): TextDiff {
  const until = performance.now() + timeoutMs;
  let notCompared = 0;
  const parts = byLines.flatMap((one, index) => {
    const next = byLines[index + 1];
    if (one.kind === 'added' && byLines[index - 1]?.kind === 'removed') return [];
    if (one.kind !== 'removed' || next?.kind !== 'added') return [one];
    const left = until - performance.now();
    const found = left > 0 ? byPieces(one.text.match(words) ?? [], next.text.match(words) ?? [], left) : undefined;
    if (!found) notCompared += one.text.length + next.text.length;
    return found ?? [one, next];
  });
  return { parts, notCompared };
}

/** Undefined where it takes longer than the timeout. Pieces are equal that are so without the spaces behind them. */
function byPieces(before: readonly string[], after: readonly string[], timeout: number): DiffPart[] | undefined {
  const [one, two] = [before.map(withoutSpaces), after.map(withoutSpaces)];
  // Pieces that only one text has are in no common sequence: without them, two texts with little in common are soon compared.
  const [ofOne, ofTwo] = [new Set(one), new Set(two)];
  const places = (pieces: readonly string[], other: ReadonlySet<string>) =>
    [...pieces.keys()].filter((at) => other.has(pieces[at] ?? ''));
  const [placesOne, placesTwo] = [places(one, ofTwo), places(two, ofOne)];
  const changes = diffArrays(
    placesOne.map((at) => one[at]),
    placesTwo.map((at) => two[at]),
    { timeout },
  );
  if (!changes) return undefined;
  const parts: DiffPart[] = [];
  let [atOne, atTwo, nextOne, nextTwo] = [0, 0, 0, 0];
  const replace = (toOne: number, toTwo: number) => {
    parts.push(...part('removed', before.slice(atOne, toOne).join('')), ...part('added', after.slice(atTwo, toTwo).join('')));
    [atOne, atTwo] = [toOne, toTwo];
  };
  for (const { count, added, removed } of changes) {
    if (removed) nextOne += count;
    else if (added) nextTwo += count;
    else
      for (let left = count; left > 0; left--) {
        replace(placesOne[nextOne++] as number, placesTwo[nextTwo++] as number);
        parts.push(...equalPieces(before[atOne++] as string, after[atTwo++] as string));
      }
  }
  replace(before.length, after.length);
  return parts;
}

const withoutSpaces = (piece: string): string => piece.trimEnd() || piece;

function equalPieces(one: string, two: string): DiffPart[] {
  if (one === two) return part('same', one);
  const same = withoutSpaces(one);
  return [...part('same', same), ...part('removed', one.slice(same.length)), ...part('added', two.slice(same.length))];
}

/** A few signs that two replaced pieces have between them: to read them as a part of both is easier. */
const SIGNS = /^[^\p{L}\p{M}\p{N}\s]{1,3}\s?$/u;

/** Neighbours of one kind as one part; of a change, what is removed first, and without the spaces that both end with. */
function joinParts(parts: readonly DiffPart[]): DiffPart[] {
  const found: DiffPart[] = [];
  const texts = { same: '', removed: '', added: '' };
  const end = () => {
    const { same, removed, added } = texts;
    const spaces = removed === '' ? '' : spacesAtEnd(removed, added);
    const without = (text: string) => text.slice(0, text.length - spaces.length);
    found.push(...part('same', same), ...part('removed', without(removed)), ...part('added', without(added)));
    Object.assign(texts, { same: spaces, removed: '', added: '' });
  };
  for (const [index, { kind, text }] of parts.entries()) {
    const isInChange = texts.removed !== '' && texts.added !== '';
    if (kind === 'same' && isInChange && SIGNS.test(text) && (parts[index + 1]?.kind ?? 'same') !== 'same') {
      texts.removed += text;
      texts.added += text;
      continue;
    }
    if (kind === 'same' && (texts.removed !== '' || texts.added !== '')) end();
    texts[kind] += text;
  }
  end();
  return [...found, ...part('same', texts.same)];
}

/** The spaces that both end with. */
function spacesAtEnd(one: string, two: string): string {
  let length = 0;
  while (/[^\S\r\n]/.test(one.at(-1 - length) ?? '') && one.at(-1 - length) === two.at(-1 - length)) length++;
  return one.slice(one.length - length);
}

/** Characters that are gone back for the beginning of a word. A longer one is compared from amid itself. */
const LONGEST_WORD = 1_000;

/** Length of what both begin with, up to the begin of a word. */
function commonStart(one: string, two: string): number {
  const most = Math.min(one.length, two.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === two.charCodeAt(length)) length++;
  if (length === one.length && length === two.length) return length;
  for (let place = length; place > length - LONGEST_WORD; place--) if (place === 0 || isSpace(one[place - 1])) return place;
  return isHigh(one[length - 1]) ? length - 1 : length;
}

/** Length of what both end with behind `start`, from the end of a word. */
function commonEnd(one: string, two: string, start: number): number {
  const most = Math.min(one.length, two.length) - start;
  let length = 0;
  while (length < most && one.charCodeAt(one.length - 1 - length) === two.charCodeAt(two.length - 1 - length)) length++;
  for (let left = length; left > length - LONGEST_WORD; left--) if (left === 0 || isSpace(one[one.length - left])) return left;
  return isLow(one[one.length - length]) ? length - 1 : length;
}

/** The first `most` characters, and one less where that would be half of one. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, isHigh(text[most - 1]) ? most - 1 : most);

const isSpace = (character: string | undefined): boolean => /\s/.test(character ?? '');
const isHigh = (character: string | undefined): boolean => /[\uD800-\uDBFF]/.test(character ?? '');
const isLow = (character: string | undefined): boolean => /[\uDC00-\uDFFF]/.test(character ?? '');
