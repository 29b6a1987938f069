import { type Attributes, type AttributeValue, structureOf } from './attributes.ts';
import { documentOf } from './documents.ts';
import type { SpanEvent } from './span.ts';
import type { RetrievedDocument } from './spanContent.ts';

/** Databases of vectors and of texts call their searches so; those of SQL have its verbs. */
const searches: ReadonlySet<AttributeValue | undefined> = new Set(['search', 'query']);

export const isDatabaseSearch = (attributes: Attributes): boolean =>
  searches.has(attributes.peek('db.operation')) || searches.has(attributes.peek('db.operation.name'));

// https://github.com/traceloop/openllmetry: EventAttributes of opentelemetry-semantic-conventions-ai, and what Pinecone's had before.
export const resultEvents: readonly string[] = ['db.query.result', 'db.search.result', 'pinecone.query.result'];

/** Returns what a search of a database found, an event for each; undefined where there is no such event. */
export function resultsIn(events: readonly SpanEvent[]): RetrievedDocument[] | undefined {
  const results = events.filter(({ name }) => resultEvents.includes(name));
  return results.length === 0 ? undefined : results.map(resultOf);
}

/** Fields below the name of the event, or without it. A vector is no field of a document: it stays with the event. */
function resultOf({ name: event, attributes }: SpanEvent): RetrievedDocument {
  const fields: { [key: string]: AttributeValue } = Object.create(null);
  for (const [name, value] of attributes.rest()) {
    const field = name.startsWith(`${event}.`) ? name.slice(event.length + 1) : name;
    if (field === 'vector') continue;
    fields[field] = value;
    attributes.markRead(name);
  }
  return documentOf({ ...fields, metadata: structureOf(fields.metadata) ?? fields.metadata ?? null });
}
