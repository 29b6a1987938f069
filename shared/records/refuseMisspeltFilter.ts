import { RequestInvalid } from '../errors/errors.ts';

const filterKeys = ['filters', 'filter_tree'];
/** Letters that a key may have too few or too many, and still be meant. */
const MAX_TYPOS = 2;

/**
 * Refuses a deletion that names no filter and has a key that looks like one: taken for no filter at all, it would delete everything.
 * @throws RequestInvalid naming that key
 */
export function refuseMisspeltFilter(body: Record<string, unknown>): void {
  const isGiven = ({ filters, filter_tree }: Record<string, unknown>) =>
    (Array.isArray(filters) && filters.length > 0) || (filter_tree !== undefined && filter_tree !== null);
  if (isGiven(body)) return;
  const items = Object.keys(body)
    .filter((key) => !filterKeys.includes(key) && resemblesFilter(key))
    .map((key) => ({
      loc: ['body', key],
      msg: `there is no key ${JSON.stringify(key.slice(0, 200))} here; a filter is called ${filterKeys.join(' or ')}. Nothing is deleted`,
      type: 'unknown_key',
    }));
  if (items.length > 0) throw new RequestInvalid(items);
}

/** Letters that change places are no letters that are off. */
function resemblesFilter(key: string): boolean {
  const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '');
  return (
    letters.includes('filter') ||
    letters.includes('tree') ||
    ['filter', ...filterKeys].some((known) => lettersOff(letters, known) <= MAX_TYPOS)
  );
}

/** Letters that one text has more often than the other. */
function lettersOff(a: string, b: string): number {
  const counts = new Map<string, number>();
  for (const letter of a) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  for (const letter of b) counts.set(letter, (counts.get(letter) ?? 0) - 1);
  return [...counts.values()].reduce((sum, count) => sum + Math.abs(count), 0);
}
