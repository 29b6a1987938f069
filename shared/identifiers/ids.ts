import { hash, randomUUID } from 'node:crypto';

/** A new random id: uuid version 4, lower case. */
export const newId = (): string => randomUUID();

/**
 * An id that is a pure function of its parts, so that the same thing always gets the same id: SHA-256 cut to 16 bytes with the version and
 * variant bits of uuid version 4 (clients check the version and refuse others). Parts are length-prefixed: ('a','bc') differs from ('ab','c').
 */
export function derivedId(...parts: (string | number)[]): string {
  let text = '';
  for (const part of parts) text += `${Buffer.byteLength(String(part))}:${part}`;
  const hex = hash('sha256', text); // in one call: half the time of a Hash object, and a row of an experiment needs several ids
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
