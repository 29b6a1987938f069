import type { z } from 'zod';
import { loggedRecord } from '../columns/recordFields.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { type LoggedKind, spanKinds } from '../wire/recordKinds.ts';
import { textOf } from '../wire/textOf.ts';
import { KeptValues, mendFields } from './mendFields.ts';

export interface MendedRecord {
  /** Fields of the schema of the record. */
  fields: Fields;
  /** The id as it was given, where it is no UUID of version 4: `fields` has none then. */
  givenId: string | undefined;
}

const kinds: ReadonlySet<unknown> = new Set(spanKinds);

const fieldsOf = (kind: LoggedKind): string[] => Object.keys(loggedRecord(kind).shape);
/** Fields of spans of some kind that a workflow has not. */
const beyondWorkflows = [...new Set(spanKinds.flatMap(fieldsOf))].filter((field) => !fieldsOf('workflow').includes(field));

/** Fields that take a text of any length in place of a value of many parts. */
const contents: ReadonlySet<string> = new Set([
  'input',
  'output',
  'redacted_input',
  'redacted_output',
  'dataset_input',
  'dataset_output',
]);

/**
 * Returns a trace or span that fits its schema, whatever JSON it holds: the service cannot ask the client, and must not lose a record for one odd part.
 * It reads a refused value where its meaning is plain, makes it text where the field takes text, and else keeps it as text in the `user_metadata` of
 * the record. Undefined for what is no record at all.
 * @param options.top the record is a trace; a span that says no kind that is known is a workflow
 * @param options.start time of a record that says none that can be stored
 * @param options.crowded fields that hold too many values to be looked at one by one
 */
export function mendRecord(
  given: unknown,
  schema: z.ZodType,
  { top, start, crowded }: { top: 'trace' | 'span'; start: unknown; crowded: readonly string[] },
): MendedRecord | undefined {
  if (!isObject(given)) return undefined;
  const kept = new KeptValues();
  const { spans, ...fields } = given;
  const said = typeof fields.type === 'string' ? fields.type.trim().toLowerCase() : fields.type;
  const type = top === 'trace' ? 'trace' : kinds.has(said) ? said : 'workflow';
  if (said !== undefined && said !== null && said !== type) kept.keep('type', fields.type);
  // As the model of an `embedding`.
  if (type === 'workflow' && said !== type)
    for (const field of beyondWorkflows)
      if (fields[field] !== undefined && fields[field] !== null) kept.keep(field, fields[field]);
  fields.type = type;
  const id = fields.id ?? (top === 'trace' ? fields.trace_id : undefined);
  for (const field of crowded) {
    if (!contents.has(field)) kept.keep(field, fields[field]);
    fields[field] = contents.has(field) ? textOf(fields[field]) : undefined;
  }
  mendFields(fields, schema, type, kept);
  if (isObject(spans)) fields.spans = [spans];
  else if (Array.isArray(spans)) fields.spans = spans;
  else if (spans !== undefined && spans !== null && spans !== '') kept.keep('spans', spans);
  if (fields.created_at === undefined && start !== undefined) fields.created_at = start;
  fields.user_metadata = kept.beside(fields.user_metadata);
  const isKnown = (fields.id ?? (top === 'trace' ? fields.trace_id : undefined)) != null;
  return { fields, givenId: isKnown || id === undefined || id === null || id === '' ? undefined : textOf(id) };
}
