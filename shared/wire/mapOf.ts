import { z } from 'zod';
import { documentedAs } from './common.ts';

/** Entries of a map up to which all its problems are looked for. */
const SEARCHED_ENTRIES = 1_000;

type MapOf<V extends z.ZodType> = z.ZodType<Record<string, z.output<V>>, Record<string, z.input<V>>>;

/** `z.record` for bodies of requests. A large one is left at its first bad entry, which `atFirstProblem` does not do for records. */
export function mapOf<V extends z.ZodType>(key: z.ZodString, value: V): MapOf<V> {
  const map = z.record(key, value);
  const field = z.preprocess((given) => upToFirstProblem(given, key, value), map);
  documentedAs.set(field, map);
  return field as unknown as MapOf<V>;
}

/** The map itself where it is small or fits, otherwise one of its bad entries. */
function upToFirstProblem(given: unknown, key: z.ZodType, value: z.ZodType): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const entries = given as Record<string, unknown>;
  const names = Object.keys(entries);
  if (names.length <= SEARCHED_ENTRIES) return given;
  const bad = names.find((name) => !key.validate(name) || !value.validate(entries[name]));
  return bad === undefined ? given : Object.fromEntries([[bad, entries[bad]]]);
}
