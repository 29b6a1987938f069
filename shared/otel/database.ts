import type { Attributes, AttributeValue } from './attributes.ts';

/** Databases of vectors and of texts call their searches so; those of SQL have its verbs. */
const searches: ReadonlySet<AttributeValue | undefined> = new Set(['search', 'query']);

export const isDatabaseSearch = (attributes: Attributes): boolean =>
  searches.has(attributes.peek('db.operation')) || searches.has(attributes.peek('db.operation.name'));
