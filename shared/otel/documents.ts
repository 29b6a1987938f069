import { type AttributeTree, type AttributeValue, structureOf, textOf } from './attributes.ts';
import { isTree } from './messages.ts';
import type { RetrievedDocument } from './spanContent.ts';

/**
 * The documents of an answer that is documents and nothing else: a list of them, one under the name `documents`, or either as the content of a
 * message; also as JSON text.
 * @returns undefined for any other answer
 */
export function documentsIn(answer: AttributeValue | undefined): RetrievedDocument[] | undefined {
  if (typeof answer === 'string' && !/^\s*[[{]/.test(answer)) return undefined;
  const structure = structureOf(answer);
  if (structure === undefined) return undefined;
  if (Array.isArray(structure)) {
    const [only] = structure;
    if (structure.length === 1 && isTree(only) && !isDocument(only)) return documentsIn(only);
    return structure.every(isDocument) ? structure.map(documentOf) : undefined;
  }
  const { documents, role: _role, content, parts, finish_reason: _reason, ...others } = structure;
  if (Object.values(others).some((value) => value !== null)) return undefined;
  const sources = [documents, content, parts].filter((field) => field !== undefined);
  return sources.length === 1 ? documentsIn(sources[0]) : undefined;
}

/** A message has a role, and a part of one has a type of its own. */
const isDocument = (value: AttributeValue): value is AttributeTree =>
  isTree(value) &&
  typeof (value.content ?? value.page_content) === 'string' &&
  value.role === undefined &&
  (value.type === undefined || value.type === 'Document');

/** A document in the form of the interface: what it has no field for is in the metadata. */
export function documentOf(value: AttributeValue): RetrievedDocument {
  if (!isTree(value)) return { content: textOf(value) };
  const { metadata, ...others } = value;
  const field = ['content', 'page_content', 'text'].find((name) => (others[name] ?? null) !== null);
  const content = field === undefined ? '' : textOf(others[field] as AttributeValue);
  if (field !== undefined) delete others[field];
  const about = isTree(metadata) ? metadata : { metadata: metadata ?? null };
  return { content, metadata: plainValues(Object.entries({ ...others, ...about })) };
}

/** Values that a document's metadata may have: what is no plain value becomes JSON text. */
export function plainValues(entries: Iterable<[string, AttributeValue]>): Record<string, string | number | boolean> {
  const plain: Record<string, string | number | boolean> = Object.create(null);
  for (const [name, value] of entries) {
    if (value === null || name === '__proto__') continue;
    plain[name.toWellFormed()] =
      typeof value === 'object' ? JSON.stringify(value) : typeof value === 'string' ? value.toWellFormed() : value;
  }
  return plain;
}
