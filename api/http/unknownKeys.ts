import { z } from 'zod';
import type { InvalidItem } from '../../shared/errors/errors.ts';
import { closestNames } from '../../shared/identifiers/closestNames.ts';

/** Characters of a key in the location of a problem: a hundred problems below one long key are not to be a hundred times as long. */
export const LOCATION_CHARACTERS = 200;

/** True when an object of this schema takes no keys but those that the schema names. */
export function isStrict(schema: unknown): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return isStrict(schema.unwrap());
  return schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;
}

/**
 * Describes the keys that the object at `path` below `schema` does not have, one item each, with the known keys that look most like it. An object
 * without keys of its own is compared with those of `body`.
 */
export function unknownKeyItems(
  { keys, path }: { keys: readonly string[]; path: readonly PropertyKey[] },
  loc: InvalidItem['loc'],
  schema: z.ZodType,
  value: unknown,
  body?: z.ZodType,
): InvalidItem[] {
  const known = keysAt(schema, value, path);
  const ofBody = known.length === 0 ? keysAt(body, undefined, []) : [];
  return keys.map((key) => {
    const closest = closestNames(key, [...known, ...ofBody]);
    const hint = closest.length > 0 ? `; the closest are ${closest.join(', ')}${ofBody.length > 0 ? ' of the body' : ''}` : '';
    const name = key.slice(0, LOCATION_CHARACTERS);
    return { loc: [...loc, name], msg: `there is no key ${JSON.stringify(name)} here${hint}`, type: 'unknown_key' };
  });
}

function keysAt(schema: unknown, value: unknown, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return keysAt(schema.unwrap(), value, path);
  const fields = (value ?? {}) as Record<PropertyKey, unknown>;
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const name = schema.def.discriminator;
    const member = schema.options.find((one) => one instanceof z.ZodObject && one.shape[name]?.safeParse(fields[name]).success);
    return keysAt(member, value, path);
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((member) => keysAt(member, value, path));
  const [key, ...rest] = path;
  if (schema instanceof z.ZodArray) return keysAt(schema.element, fields[key ?? 0], rest);
  if (!(schema instanceof z.ZodObject)) return [];
  return key === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[key as string], fields[key], rest);
}
