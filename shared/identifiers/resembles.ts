import { editDistance } from './editDistance.ts';

/** Letters that a key may be off and still be meant: of a short one, two would make it another word. */
const mostTypos = (wanted: string): number => (wanted.length < 6 ? 1 : 2);

/** Returns whether a key is one of `known` but for its spelling: a letter or two off, or the same letters in another order. */
export function resembles(key: string, known: readonly string[]): boolean {
  const letters = lettersOf(key);
  return known.some((name) => {
    const wanted = lettersOf(name);
    const most = mostTypos(wanted);
    if (Math.abs(letters.length - wanted.length) > most) return false;
    // Swapped letters count twice in the distance, so that the same letters in any order are looked for beside it.
    return editDistance(letters, wanted) <= most || inOrder(letters) === inOrder(wanted);
  });
}

/** The letters of a key, whatever their case and what stands between them. */
export const lettersOf = (key: string): string => key.toLowerCase().replaceAll(/[^a-z]/g, '');

const inOrder = (letters: string): string => [...letters].sort().join('');
