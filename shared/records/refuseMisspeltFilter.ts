import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { lettersOf, resembles } from '../identifiers/resembles.ts';
import type { Filter } from '../wire/filters.ts';

const filterKeys = ['filters', 'filter_tree'];
/** Keys of a leaf that have a default. */
const DEFAULTED = ['operator', 'case_sensitive', 'user_ids'];

interface Deletion extends Record<string, unknown> {
  filters?: readonly Filter[] | undefined;
  filter_tree?: Filter | null | undefined;
}

/**
 * Refuses a deletion that names no filter and has a key that looks like one: taken for no filter at all, it would delete everything. So it does one with
 * a misspelt key in a filter.
 * @throws RequestInvalid naming that key
 */
export function refuseMisspeltFilter(body: Deletion): void {
  const { filters, filter_tree } = body;
  for (const [index, filter] of (filters ?? []).entries()) refuseMisspeltLeaf(filter, ['body', 'filters', index]);
  if (filter_tree) refuseMisspeltLeaf(filter_tree, ['body', 'filter_tree']);
  if (filters?.length || filter_tree) return;
  const items = Object.keys(body)
    .filter((key) => !filterKeys.includes(key) && resemblesFilter(key))
    .map((key) => unknownKey(['body', key], `here; a filter is called ${filterKeys.join(' or ')}`));
  if (items.length > 0) throw new RequestInvalid(items);
}

/**
 * Refuses a filter in which a default would stand in for a misspelt key, and take what was to stay.
 * @throws RequestInvalid naming that key
 */
export function refuseMisspeltLeaf(filter: Filter, loc: InvalidItem['loc']): void {
  if ('filter' in filter) {
    const key = Object.keys(filter.filter).find((one) => !DEFAULTED.includes(one) && resemblesDefaulted(one));
    if (key !== undefined)
      throw new RequestInvalid([unknownKey([...loc, key], `in a filter; the closest is ${closestNames(key, DEFAULTED, 1)}`)]);
  } else if ('not' in filter) refuseMisspeltLeaf(filter.not, [...loc, 'not']);
  else {
    const [name, parts] = 'and' in filter ? (['and', filter.and] as const) : (['or', filter.or] as const);
    for (const [index, part] of parts.entries()) refuseMisspeltLeaf(part, [...loc, name, index]);
  }
}

function unknownKey(loc: InvalidItem['loc'], what: string): InvalidItem {
  const key = JSON.stringify(String(loc.at(-1)).slice(0, 200));
  return { loc, msg: `there is no key ${key} ${what}. Nothing is deleted`, type: 'unknown_key' };
}

function resemblesFilter(key: string): boolean {
  const letters = lettersOf(key);
  return letters.includes('filter') || letters.includes('tree') || resembles(key, ['filter', ...filterKeys]);
}

const resemblesDefaulted = (key: string): boolean =>
  resembles(key, DEFAULTED) || /^(op|oper|operation)$|case/.test(lettersOf(key));
