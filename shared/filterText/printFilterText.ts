import { operators } from './filterSyntax.ts';
import type { FilterTree, Leaf } from './parseFilterText.ts';

const signs = Object.fromEntries(Object.entries(operators).map(([sign, name]) => [name, sign]));

/** The text that {@link parseFilterText} reads as this filter, with as few brackets as it needs. */
export function printFilterText(tree: FilterTree): string {
  if ('filter' in tree) return leafText(tree.filter);
  if ('not' in tree) return `not ${'filter' in tree.not || 'not' in tree.not ? printFilterText(tree.not) : bracketed(tree.not)}`;
  if ('and' in tree)
    return tree.and.map((one) => ('and' in one || 'or' in one ? bracketed(one) : printFilterText(one))).join(' and ');
  return tree.or.map((one) => ('or' in one ? bracketed(one) : printFilterText(one))).join(' or ');
}

const bracketed = (tree: FilterTree): string => `(${printFilterText(tree)})`;

function leafText({ type, column_id, operator, value }: Leaf): string {
  const isList = operator === 'one_of' || operator === 'not_in';
  const values = isList ? `(${(value as readonly string[]).map(wordText).join(', ')})` : valueText(type, value);
  return `${wordText(column_id)} ${signs[operator]} ${values}`;
}

/** One value as a condition of a filter of this type has it. */
export const valueText = (type: string, value: unknown): string =>
  type === 'number' || type === 'boolean' ? String(value) : wordText(String(value));

/** A column or text, in quotes wherever it could be read as anything but this one word. */
export const wordText = (text: string): string =>
  /^[^\s"<>=!(),]+$/.test(text) && !/^(?:and|or|not|in|contains)$/i.test(text) ? text : JSON.stringify(text);
