import { type Fields, isObject } from '../wire/isObject.ts';

/** Keywords that schemas of answers may not have: https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations */
const BOUNDS: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'maxItems'],
  ...['uniqueItems', 'minProperties', 'maxProperties'],
]);

/** Keywords whose members are schemas by names of the user's. */
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
/** Keywords whose value is no schema. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required']);

/**
 * A schema as Claude takes it: each object is closed, and a bound that it refuses stands in the description, where the model reads it. Anthropic's own
 * clients do the same.
 */
export function anthropicSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(anthropicSchema);
  if (!isObject(schema)) return schema;
  const kept: Fields = {};
  const bounds: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (BOUNDS.has(keyword) || (keyword === 'minItems' && value !== 0 && value !== 1))
      bounds.push(`${keyword} ${JSON.stringify(value)}`);
    else if (NAMED.has(keyword) && isObject(value))
      kept[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, anthropicSchema(one)]));
    else kept[keyword] = VALUES.has(keyword) ? value : anthropicSchema(value);
  }
  if (bounds.length > 0)
    kept.description = [...(typeof kept.description === 'string' ? [kept.description] : []), bounds.join(', ')].join('; ');
  return schema.type === 'object' || 'properties' in schema ? { ...kept, additionalProperties: false } : kept;
}
