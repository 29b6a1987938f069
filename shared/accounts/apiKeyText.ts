import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

// The prefix and the checksum let secret scanners recognise a leaked key without asking the service.
const PREFIX = 'assay_';
const SECRET_LENGTH = 43; // 256 bits in base 62
const CHECKSUM_LENGTH = 6; // 32 bits in base 62
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new key: the prefix, 256 random bits and the CRC-32 of what stands before it, both in base 62. */
export function newApiKeyText(): string {
  const body = PREFIX + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  return body + checksum(body);
}

/** True for a text that has the form of our keys but a wrong checksum: mistyped or cut, so no lookup is needed. */
export function isMistypedApiKey(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  return !shape.test(text) || checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH);
}

/** Returns the hash by which a key is stored and looked up. */
export const apiKeyHash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns a key as it is shown after its creation: enough to recognize it, too little to help a guess. */
export const truncatedApiKey = (text: string): string => `${text.slice(0, PREFIX.length + 2)}...${text.slice(-4)}`;

const checksum = (body: string): string => base62(BigInt(crc32(body)), CHECKSUM_LENGTH);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}
