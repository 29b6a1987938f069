import { storableKey } from '../json/storable.ts';
import { isExact } from '../wire/exactNumber.ts';
import { type AttributeTree, type AttributeValue, structureOf, textOf } from './attributes.ts';
import { append } from './messageContents.ts';
import { isNothing, isTree } from './messageForms.ts';
import type { RetrievedDocument } from './spanContent.ts';

/**
 * The documents of an answer that is documents and nothing else: a list of them, one under the name `documents`, or either as the content of a
 * message or of its only part; also as JSON text.
 * @param beside what else the messages around them say is added to it
 * @returns undefined for any other answer
 */
export function documentsIn(
  answer: AttributeValue | undefined,
  beside: [string, AttributeValue][] = [],
): RetrievedDocument[] | undefined {
  const structure = structureOf(answer);
  if (structure === undefined) return undefined;
  if (Array.isArray(structure)) {
    if (structure.every(isDocument)) return structure.map(documentOf);
    return structure.length === 1 ? documentsIn(structure[0], beside) : undefined;
  }
  const { documents, messages, content, parts, text, role, type, ...others } = structure;
  const sources = [documents, messages, content, parts, text].filter((field) => !isNothing(field) || Array.isArray(field));
  const around = Object.entries(others).filter(([, value]) => !isNothing(value));
  // An application may name its sources beside its answer: only a message, or a part of one, may say more than documents.
  const isMessage = isNothing(messages) && typeof (role ?? (isNothing(documents) ? type : undefined)) === 'string';
  // A count of them is no answer.
  const isMore = isMessage
    ? around.some(([name]) => calls.has(name))
    : around.some(([, value]) => typeof value !== 'number') || !isNothing(type);
  if (sources.length !== 1 || isMore) return undefined;
  const found = documentsIn(sources[0], beside);
  if (found) append(beside, around);
  return found;
}

const calls: ReadonlySet<string> = new Set(['tool_calls', 'function_call']);

/** A message has a role, or a type in its place, and a part of one has a type of its own. */
const isDocument = (value: AttributeValue): value is AttributeTree =>
  isTree(value) &&
  isNothing(value.role) &&
  (typeof value.page_content === 'string' ||
    (typeof value.content === 'string' && (isNothing(value.type) || value.type === 'Document' || value.type === 'document')));

/** A document in the form of the interface: what it has no field for is in the metadata. */
export function documentOf(value: AttributeValue): RetrievedDocument {
  if (!isTree(value)) return { content: textOf(value) };
  const { metadata, ...others } = value;
  const field = ['content', 'page_content', 'text', 'document', 'entity'].find((name) => (others[name] ?? null) !== null);
  const content = field === undefined ? '' : textOf(others[field] as AttributeValue);
  if (field !== undefined) delete others[field];
  const about = isTree(metadata) ? metadata : { metadata: metadata ?? null };
  return { content, metadata: plainValues(Object.entries({ ...others, ...about })) };
}

/** Values that a document's metadata may have: what is no plain value becomes JSON text. */
export function plainValues(entries: Iterable<[string, AttributeValue]>): NonNullable<RetrievedDocument['metadata']> {
  const plain: NonNullable<RetrievedDocument['metadata']> = Object.create(null);
  for (const [name, value] of entries) {
    if (value === null) continue;
    plain[storableKey(name)] =
      typeof value === 'object' && !isExact(value)
        ? JSON.stringify(value)
        : typeof value === 'string'
          ? value.toWellFormed()
          : (value as number);
  }
  return plain;
}
