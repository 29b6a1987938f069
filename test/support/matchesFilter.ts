import { foldCase } from '../../shared/identifiers/foldCase.ts';
import type { Filter, FilterLeaf } from '../../shared/wire/filters.ts';

/** A record's value in a column; undefined where it has none. */
export type ValueOf = (columnId: string) => string | number | boolean | readonly string[] | undefined;

/** Returns what a filter means, read in memory: the other opinion that the record store's answer is held against. */
export function matchesFilter(filter: Filter, held: ValueOf): boolean {
  if ('and' in filter) return filter.and.every((inner) => matchesFilter(inner, held));
  if ('or' in filter) return filter.or.some((inner) => matchesFilter(inner, held));
  if ('not' in filter) return !matchesFilter(filter.not, held);
  const leaf = filter.filter;
  if (leaf.type === 'fully_annotated') return held(leaf.column_id) === true;
  const value = held(leaf.column_id);
  return value !== undefined && matchesLeaf(leaf, value);
}

const list = (value: string | string[]): string[] => (Array.isArray(value) ? value : [value]);
const isUuid = (text: string): boolean => /^[0-9a-f-]{36}$/i.test(text);

function matchesLeaf(
  leaf: Exclude<FilterLeaf, { type: 'fully_annotated' }>,
  value: string | number | boolean | readonly string[],
): boolean {
  switch (leaf.type) {
    case 'boolean':
      return (value === leaf.value) === (leaf.operator === 'eq');
    case 'date':
      return compare(String(value), leaf.operator, leaf.value);
    case 'number':
      if (leaf.operator === 'eq' || leaf.operator === 'ne')
        return [leaf.value].flat().some((one) => compare(Number(value), 'eq', one)) === (leaf.operator === 'eq');
      if (!Array.isArray(leaf.value))
        return compare(Number(value), leaf.operator === 'between' ? 'eq' : leaf.operator, leaf.value);
      return Number(value) >= (leaf.value[0] ?? 0) && Number(value) <= (leaf.value[1] ?? 0);
    case 'id': {
      const wanted = list(leaf.value).map((text) => text.toLowerCase());
      if (leaf.operator === 'contains') return wanted.some((part) => String(value).includes(part));
      const isOne = wanted.filter(isUuid).includes(String(value));
      return leaf.operator === 'ne' || leaf.operator === 'not_in' ? !isOne : isOne;
    }
    case 'text': {
      const fold = (text: string) => (leaf.case_sensitive ? text : foldCase(text));
      const wanted = list(leaf.value).map(fold);
      const subject = fold(String(value));
      if (leaf.operator === 'contains') return wanted.some((part) => subject.includes(part));
      const isOne = wanted.includes(subject);
      return leaf.operator === 'ne' || leaf.operator === 'not_in' ? !isOne : isOne;
    }
    case 'collection': {
      const fold = (text: string) => (leaf.case_sensitive ? text : foldCase(text));
      const wanted = list(leaf.value).map(fold);
      const held = (value as readonly string[]).map(fold);
      const all = wanted.every((one) => held.includes(one));
      const any = wanted.some((one) => held.includes(one));
      if (leaf.operator === 'eq') return all && held.every((one) => wanted.includes(one));
      return leaf.operator === 'contains' ? all : leaf.operator === 'one_of' ? any : !any;
    }
  }
}

function compare<T extends string | number>(value: T, operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte', other: T): boolean {
  switch (operator) {
    case 'eq':
      return value === other;
    case 'ne':
      return value !== other;
    case 'gt':
      return value > other;
    case 'gte':
      return value >= other;
    case 'lt':
      return value < other;
    case 'lte':
      return value <= other;
  }
}
