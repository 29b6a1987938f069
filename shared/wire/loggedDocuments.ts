import { isExact } from './exactNumber.ts';
import { isObject } from './isObject.ts';
import { textOf } from './textOf.ts';

/** A value as the metadata of a document may have it. */
export const plainValue = (value: unknown): unknown =>
  typeof value === 'boolean' || isExact(value) || Number.isFinite(value) ? value : textOf(value);

/**
 * A document as it is logged, with what it says beside its content and metadata moved into the metadata, where the interface has a place for it; any
 * other value as it is.
 */
export function withFieldsInMetadata(value: unknown): unknown {
  if (!isObject(value) || !('content' in value)) return value;
  const { content, metadata, ...others } = value;
  const entries = Object.entries(others).filter(([, one]) => one !== null && one !== undefined);
  if (entries.length === 0 || !(metadata === undefined || metadata === null || isObject(metadata))) return value;
  const fields = entries.map(([name, one]) => [name, plainValue(one)]);
  return { content, metadata: { ...Object.fromEntries(fields), ...metadata } };
}

/** The documents of an output. A list of messages is none: they would be taken for documents, and lose their roles. It becomes its JSON text. */
export function loggedDocuments(output: unknown): unknown {
  if (!Array.isArray(output)) return output;
  return output.some((one) => isObject(one) && 'role' in one) ? textOf(output) : output.map(withFieldsInMetadata);
}
