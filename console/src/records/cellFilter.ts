import { parseExpression } from '../../../shared/filterText/filterSyntax.ts';
import { printFilterText } from '../../../shared/filterText/printFilterText.ts';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { ShownColumn } from './recordColumns.ts';

/** Characters of a long text that a condition looks for. */
const LONG = 120;

/**
 * The condition that keeps the records like one whose column has `value`: as many, as long or as much where it is a quantity. Undefined where nothing can
 * be asked for.
 */
export function conditionOf({ id, filterType }: ShownColumn, value: unknown, { isExcluded = false } = {}): string | undefined {
  const leaf = leafOf(id, filterType, value);
  if (!leaf) return undefined;
  const tree = { filter: { column_id: id, ...leaf } };
  return printFilterText(isExcluded ? { not: tree } : tree);
}

function leafOf(id: string, type: string | undefined, value: unknown) {
  if (value === null || value === undefined || value === '') return undefined;
  if (type === 'number') return { type, operator: isQuantity(id) ? 'gte' : 'eq', value };
  if (type === 'date') return { type, operator: 'gte', value };
  if (type === 'boolean') return { type, operator: 'eq', value };
  if (type === 'collection') return Array.isArray(value) && value.length > 0 ? { type, operator: 'one_of', value } : undefined;
  if (type !== 'text' && type !== 'id') return undefined;
  const text = typeof value === 'string' ? value : jsonWithBigInts(value);
  return text.length > LONG || typeof value !== 'string'
    ? { type, operator: 'contains', value: text.slice(0, LONG) }
    : { type, operator: 'eq', value: text };
}

const isQuantity = (id: string): boolean => id.endsWith('_ns') || id.includes('tokens') || id.includes('cost');

/** A filter's text with one more condition. */
export function withCondition(filter: string, condition: string): string {
  const text = filter.trim();
  if (text === '' || text === condition) return condition;
  if (text.endsWith(` and ${condition}`)) return text;
  return `${isEither(text) ? `(${text})` : text} and ${condition}`;
}

function isEither(text: string): boolean {
  try {
    return 'or' in parseExpression(text);
  } catch {
    return false; // what cannot be read is shown at its place
  }
}
