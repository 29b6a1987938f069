import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { lettersOf, resembles } from '../identifiers/resembles.ts';
import type { Filter } from '../wire/filters.ts';

const filterKeys = ['filters', 'filter_tree'];
const nodeKeys = ['and', 'or', 'not', 'filter'];
/** Keys that a request has when a filter was meant: a bare leaf or combinator, other words for one, ids of records. */
const meantAsFilter: ReadonlySet<string> = new Set([
  ...'column columnid operator value and or not where condition conditions query match search'.split(' '),
  ...'id ids recordid recordids traceid traceids spanid spanids sessionid sessionids externalid'.split(' '),
]);
/** Keys of a leaf that have a default. */
const DEFAULTED = ['operator', 'case_sensitive', 'user_ids'];

interface Deletion extends Record<string, unknown> {
  filters?: readonly Filter[] | undefined;
  filter_tree?: Filter | null | undefined;
}

/**
 * Refuses a deletion whose filter is misspelt: it names nothing to look for and has a key that looks like a filter, or is meant as one, in its body or its
 * query; or a filter has a key that looks like one that counts there. It would delete everything, or what was to stay.
 * @throws RequestInvalid naming that key
 */
export function refuseMisspeltFilter(body: Deletion, query: object = {}): void {
  const { filters, filter_tree } = body;
  for (const [index, filter] of (filters ?? []).entries()) refuseMisspeltKeys(filter, ['body', 'filters', index]);
  if (filter_tree) refuseMisspeltKeys(filter_tree, ['body', 'filter_tree']);
  const all = [...(filters ?? []), ...(filter_tree ? [filter_tree] : [])];
  if (all.some(looksForSomething)) return;
  const items = [...misspeltFilters(body, 'body'), ...misspeltFilters(query, 'query', [])];
  if (items.length > 0) throw new RequestInvalid(items);
}

/**
 * The same of the selector of records of an annotation queue.
 * @throws RequestInvalid naming that key
 */
export function refuseMisspeltSelector(selector: { filter_tree: Filter }): void {
  refuseMisspeltKeys(selector.filter_tree, ['body', 'record_selector', 'filter_tree']);
  const items = looksForSomething(selector.filter_tree)
    ? []
    : misspeltFilters(selector, 'body', filterKeys.slice(1), ['record_selector']);
  if (items.length > 0) throw new RequestInvalid(items);
}

/** True when the filter has a leaf: `{ and: [] }` keeps every record. */
const looksForSomething = (filter: Filter): boolean =>
  'filter' in filter ||
  ('not' in filter ? looksForSomething(filter.not) : ('and' in filter ? filter.and : filter.or).some(looksForSomething));

const misspeltFilters = (given: object, part: string, known = filterKeys, path: string[] = []): InvalidItem[] =>
  Object.keys(given)
    .filter((key) => !known.includes(key) && resemblesFilter(key))
    .map((key) => unknownKey([part, ...path, key], `here; a filter is called ${filterKeys.join(' or ')}`));

function refuseMisspeltKeys(filter: Filter, loc: InvalidItem['loc']): void {
  const { and, or, not, filter: leaf, ...others } = filter as Partial<Record<string, unknown>>;
  refuseKeys(others, loc, (key) => DEFAULTED.includes(key) || resembles(key, nodeKeys) || resemblesDefaulted(key));
  if (leaf) refuseKeys(leaf, loc, (key) => !DEFAULTED.includes(key) && resemblesDefaulted(key));
  if (not) refuseMisspeltKeys(not as Filter, [...loc, 'not']);
  for (const [name, parts] of Object.entries({ and, or }))
    for (const [index, part] of ((parts ?? []) as Filter[]).entries()) refuseMisspeltKeys(part, [...loc, name, index]);
}

function refuseKeys(given: object, loc: InvalidItem['loc'], isMisspelt: (key: string) => boolean): void {
  const [key] = Object.entries(given).flatMap(([name, value]) => (value != null && isMisspelt(name) ? [name] : []));
  if (key === undefined) return;
  const closest = /case/i.test(key) ? 'case_sensitive' : closestNames(key, [...DEFAULTED, ...nodeKeys], 1);
  throw new RequestInvalid([unknownKey([...loc, key], `at this place of a filter; the closest is ${closest}`)]);
}

function unknownKey(loc: InvalidItem['loc'], what: string): InvalidItem {
  const key = JSON.stringify(String(loc.at(-1)).slice(0, 200));
  return { loc, msg: `there is no key ${key} ${what}. Nothing is deleted`, type: 'unknown_key' };
}

function resemblesFilter(key: string): boolean {
  const letters = lettersOf(key);
  if (meantAsFilter.has(letters)) return true;
  return letters.includes('filter') || letters.includes('tree') || resembles(key, ['filter', ...filterKeys]);
}

const resemblesDefaulted = (key: string): boolean =>
  resembles(key, DEFAULTED) || /operator|^(op|oper|operation|(ignore|match)?case(in)?(sensitiv\w*)?)$/.test(lettersOf(key));
