import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { isEmptyInJson, readable } from './texts.ts';

/**
 * Returns the output of a row's function as the text to record. Texts stay as they are, and so do dates, addresses and other values that JSON writes as
 * a text; everything else becomes JSON. Maps become objects, or lists of pairs when a key is no text; sets become lists. Bigints become numbers with all
 * their digits, NaN and infinite numbers their names. A generator or a stream is read to its end: parts of text are joined, others form a list. Null and
 * undefined are no output.
 * @throws TypeError for what would lose its content: a function, a symbol, an object of these alone or of a class that JSON shows as `{}`, a circular one
 */
export async function outputText(given: unknown): Promise<string | null> {
  const value = await whole(given);
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (isNoData(value)) throw new TypeError(`the output is a ${typeof value}, and not what it returns`);
  const text = jsonWithBigInts(value, jsonable);
  if (text === undefined) throw new TypeError('the output has no form in JSON');
  if (text.startsWith('"')) return JSON.parse(text) as string;
  if (holdsNoData(value)) throw new TypeError('the output holds functions or symbols alone, of which JSON keeps nothing');
  return text;
}

const isNoData = (value: unknown): boolean => typeof value === 'function' || typeof value === 'symbol';

/** True where JSON would show `{}`, or a list of nulls. */
function holdsNoData(value: unknown): boolean {
  const members = typeof value === 'object' && value !== null && !('toJSON' in value) ? Object.values(value) : [];
  return members.length > 0 && members.every(isNoData);
}

/** All of what comes in parts, as one value. */
async function whole(value: unknown): Promise<unknown> {
  if (!isInParts(value)) return value;
  const parts: unknown[] = [];
  for await (const part of value) parts.push(part);
  if (parts.length > 0 && parts.every((part) => part instanceof Uint8Array)) return decoded(parts);
  return parts.every((part) => typeof part === 'string') ? parts.join('') : parts;
}

/** True of generators and streams; not of what can be read twice, as lists, maps and sets. */
export const isInParts = (value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  (Symbol.asyncIterator in value || (Symbol.iterator in value && typeof (value as { next?: unknown }).next === 'function'));

function decoded(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
}

function jsonable(this: unknown, key: string, value: unknown): unknown {
  if (isEmptyInJson(value))
    throw new TypeError(
      `${key === '' ? 'the output' : `${JSON.stringify(key)} in the output`} is a ${value.constructor.name}, of which JSON keeps nothing: return its content`,
    );
  return readable(value);
}
