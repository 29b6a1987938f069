import { RequestInvalid } from '../errors/errors.ts';
import { editDistance } from '../metrics/editDistance.ts';

const filterKeys = ['filters', 'filter_tree'];
/** Letters that a key may be off and still be meant. */
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

function resemblesFilter(key: string): boolean {
  const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '');
  if (letters.includes('filter') || letters.includes('tree')) return true;
  return ['filter', ...filterKeys].some((known) => {
    const wanted = known.replace('_', '');
    if (Math.abs(letters.length - wanted.length) > MAX_TYPOS) return false;
    // Swapped letters count twice in the distance, so that the same letters in any order are looked for beside it.
    return editDistance(letters, wanted) <= MAX_TYPOS || inOrder(letters) === inOrder(wanted);
  });
}

const inOrder = (letters: string): string => [...letters].sort().join('');
