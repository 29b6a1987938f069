import { isExact } from '../wire/exactNumber.ts';

const PROTOTYPE = '__proto__';
/** An escape of half a character that lacks its other half. Text decoded from bytes holds none. */
const LONE_SURROGATE = /\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]/;

/**
 * A value that was parsed from JSON as it can be stored and read again, changed in place. Half a character, which UTF-8 has not, becomes U+FFFD, in keys
 * as in values; a key that JavaScript takes for the prototype of its object gets another name. Iterative: depth costs no stack.
 * @param text the JSON, which says whether there is any of this
 */
export function storable(value: unknown, text: string): unknown {
  // Looking for the start of such an escape is ten times as fast as the expression.
  const hasEscape = text.includes('\\ud') || text.includes('\\uD');
  return text.includes(PROTOTYPE) || (hasEscape && LONE_SURROGATE.test(text)) ? changed(value) : value;
}

function changed(value: unknown): unknown {
  const whole = { value };
  const open: Record<string, unknown>[] = [whole];
  for (let container = open.pop(); container; container = open.pop()) {
    for (const key of Object.keys(container)) {
      const inner = container[key];
      if (typeof inner === 'string') container[key] = inner.toWellFormed();
      else if (typeof inner === 'object' && inner !== null && !isExact(inner)) {
        const isFitting = Array.isArray(inner) || Object.keys(inner).every((name) => storableKey(name) === name);
        const fitting = isFitting ? inner : withStorableKeys(inner);
        container[key] = fitting;
        open.push(fitting as Record<string, unknown>);
      }
    }
  }
  return whole.value;
}

const withStorableKeys = (value: object): object =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableKey(key), inner]));

/** A key as it can be stored and read again. */
export const storableKey = (key: string): string => (key === PROTOTYPE ? '_proto_' : key.toWellFormed());
