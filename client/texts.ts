/** Any value as text: strings as they are, everything else as JSON; what JSON cannot hold by its name. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  try {
    return JSON.stringify(value) ?? String(value);
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

function said(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message } = thrown as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  const text = String(thrown);
  return /^\[object \w+\]$/.test(text) || Array.isArray(thrown) ? asText(thrown) : text;
}
