import { createHash, randomUUID } from 'node:crypto';

/** A new random id: uuid version 4, lower case. */
export const newId = (): string => randomUUID();

/**
 * An id that is a pure function of its parts, so that the same thing always gets the same id: SHA-256 cut to 16 bytes with the version and
 * variant bits of uuid version 4 (clients check the version and refuse others). Parts are length-prefixed: ('a','bc') differs from ('ab','c').
 */
export function derivedId(...parts: (string | number)[]): string {
  const hash = createHash('sha256');
  for (const part of parts.map(String)) hash.update(`${Buffer.byteLength(part)}:${part}`);
  const bytes = hash.digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
