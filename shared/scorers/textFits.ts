import { foldCase } from '../identifiers/foldCase.ts';

/** Returns true when a filter on a list of texts holds for one, as `collection` of records (docs/search.md): `eq` says all that is in it. */
export function collectionFits(
  filter: { operator: 'eq' | 'contains' | 'one_of' | 'not_in'; value: string | string[]; case_sensitive: boolean },
  values: readonly string[],
): boolean {
  const fold = (text: string) => (filter.case_sensitive ? text : foldCase(text));
  const wanted = [filter.value].flat().map(fold);
  const found = values.map(fold);
  const hasAll = () => wanted.every((one) => found.includes(one));
  const hasAny = () => wanted.some((one) => found.includes(one));
  switch (filter.operator) {
    case 'eq':
      return hasAll() && found.every((one) => wanted.includes(one));
    case 'contains':
      return hasAll();
    case 'one_of':
      return hasAny();
    case 'not_in':
      return !hasAny();
    default:
      return filter.operator satisfies never;
  }
}

/**
 * Returns true where a filter on texts holds for a list of values: one of them equals a text of the filter, or contains it for
 * `contains`. For `ne` and `not_in` it returns true where none equals one.
 */
export function textFits(
  filter: { operator: string; value: string | string[] },
  values: readonly string[],
  caseSensitive: boolean,
): boolean {
  const fold = (text: string) => (caseSensitive ? text : foldCase(text));
  const wanted = [filter.value].flat().map(fold);
  const found = values.map(fold);
  if (filter.operator === 'contains') return found.some((value) => wanted.some((part) => value.includes(part)));
  const fits = found.some((value) => wanted.includes(value));
  return filter.operator === 'ne' || filter.operator === 'not_in' ? !fits : fits;
}
