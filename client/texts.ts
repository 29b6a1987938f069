import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';

/** Any value as text: strings as they are, everything else as JSON; what JSON cannot hold by its name. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  try {
    return jsonWithBigInts(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** Characters of what is said of a thrown value. */
const MAX_CHARACTERS = 10_000;

/** What was thrown, which may be anything, for people to read: an error by its name and message, another object by its message or as JSON. */
export function thrownText(thrown: unknown): string {
  try {
    return said(thrown).slice(0, MAX_CHARACTERS);
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
  seen.size > MAX_CAUSES ? 'more' : thrown instanceof Error ? withCauses(thrown, seen) : said(thrown);

function said(thrown: unknown): string {
  if (thrown instanceof Error) return withCauses(thrown, new Set());
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message } = thrown as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  const text = String(thrown);
  return /^\[object \w+\]$/.test(text) || Array.isArray(thrown) ? asText(thrown) : text;
}
