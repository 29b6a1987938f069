import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';

/**
 * Any value as text: strings as they are, everything else as JSON, in which maps, sets, errors and numbers like NaN are what they hold; what JSON
 * cannot hold by its name.
 */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  try {
    const text = jsonWithBigInts(value, (_key, one) => (isEmptyInJson(one) ? nameOf(one) : readable(one))) ?? String(value);
    return text.startsWith('"') ? (JSON.parse(text) as string) : text;
  } catch {
    return String(value);
  }
}

/**
 * A value of which JSON would lose the content, as one that it keeps: maps are objects, or lists of pairs where a key is no text; sets are lists; errors
 * and regular expressions are texts; NaN and infinite numbers are written as they are called.
 */
export function readable(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Map) {
    const pairs = [...value];
    return pairs.every(([name]) => typeof name === 'string') ? Object.fromEntries(pairs) : pairs;
  }
  if (value instanceof Set) return [...value];
  return value instanceof Error || value instanceof RegExp ? String(value) : value;
}

const classOf = (value: object): string | undefined => Object.getPrototypeOf(value)?.constructor?.name as string | undefined;

/** True of an object of a class that JSON shows as `{}` although it may hold something, a stream say. */
export function isEmptyInJson(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || readable(value) !== value) return false;
  const className = classOf(value);
  return className !== undefined && className !== 'Object' && Object.keys(value).length === 0;
}

function nameOf(value: object): string {
  const text = String(value);
  return text === '[object Object]' ? `[object ${classOf(value)}]` : text;
}

/** Characters of what is said of a thrown value. */
const MAX_CHARACTERS = 10_000;

/** Describes a thrown value, which may be anything: an error by its name and message, another object by its message or as JSON. */
export function thrownText(thrown: unknown): string {
  try {
    return textOfThrown(thrown).slice(0, MAX_CHARACTERS);
  } catch {
    return 'something was thrown that is no text';
  }
}

/** Causes, and errors in one error, that are said: more say no more. */
const MAX_CAUSES = 5;

/** An error with what caused it, and with the errors that it is made of. */
function withCauses(error: Error, seen: Set<unknown>): string {
  seen.add(error);
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  const parts = inner
    .filter((one) => !seen.has(one))
    .slice(0, MAX_CAUSES)
    .map((one) => `- ${inWords(one, seen)}`);
  const cause = error.cause === undefined || seen.has(error.cause) ? [] : [`caused by ${inWords(error.cause, seen)}`];
  return [`${error.name}: ${error.message}`, ...parts, ...cause].join('\n');
}

const inWords = (thrown: unknown, seen: Set<unknown>): string =>
  seen.size > MAX_CAUSES ? 'more' : thrown instanceof Error ? withCauses(thrown, seen) : textOfThrown(thrown);

function textOfThrown(thrown: unknown): string {
  if (thrown instanceof Error) return withCauses(thrown, new Set());
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message } = thrown as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  const text = String(thrown);
  return /^\[object \w+\]$/.test(text) || Array.isArray(thrown) ? asText(thrown) : text;
}
