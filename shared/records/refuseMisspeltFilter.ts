import { RequestInvalid } from '../errors/errors.ts';
import { lettersOf, resembles } from '../identifiers/resembles.ts';

const filterKeys = ['filters', 'filter_tree'];

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
  const letters = lettersOf(key);
  return letters.includes('filter') || letters.includes('tree') || resembles(key, ['filter', ...filterKeys]);
}
