import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ServiceError } from '../errors/errors.ts';

/** Seals secrets at rest. The identity names the record and field a secret belongs to: a sealed text moved elsewhere does not open. */
export interface KeyRing {
  /** Encrypts with the active key: `v1:keyid:iv:ciphertext:tag`, the last three base64url. */
  seal(plain: string, identity: string): string;
  /** @throws ServiceError `SecretUnreadable` when its key is not in the ring, or when the text was changed or belongs to another record. */
  open(sealed: string, identity: string): string;
  /** True when `sealed` is not under the active key, so rotation must seal it again. */
  isStale(sealed: string): boolean;
}

const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const KEY_BYTES = 32;
// 96 bits: the nonce size AES-GCM is specified for (NIST SP 800-38D, 5.2.1.1).
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The keys of `SECRET_KEYS`, in their order: the first one is active. @throws Error with one sentence naming the entry that is wrong */
export function parseSecretKeys(text: string): { id: string; key: Buffer }[] {
  const keys = text.split(',').map((entry, index) => parseKey(entry.trim(), index + 1));
  const twice = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice) throw new Error(`SECRET_KEYS: the key id "${twice.id}" stands there twice; give each key its own`);
  return keys;
}

/**
 * A key ring from `SECRET_KEYS`: `id:base64(32 bytes)`, comma separated. The first key seals, all of them open.
 * @throws Error with one clear sentence that never holds a key.
 */
export function openKeyRing(text: string): KeyRing {
  const keys = new Map(parseSecretKeys(text).map(({ id, key }) => [id, key]));
  const [activeId, activeKey] = [...keys][0] as [string, Buffer];
  return {
    seal(plain, identity) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', activeKey, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(identity));
      const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return ['v1', activeId, ...[iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join(':');
    },
    open(sealed, identity) {
      const [version, id, iv, ciphertext, tag, ...rest] = sealed.split(':');
      if (version !== 'v1' || id === undefined || !iv || ciphertext === undefined || !tag || rest.length > 0)
        throw new ServiceError('SecretUnreadable', 'a stored secret does not have the form v1:keyid:iv:ciphertext:tag');
      const key = keys.get(id);
      if (!key)
        throw new ServiceError(
          'SecretUnreadable',
          `a stored secret is sealed under the key "${id}", which SECRET_KEYS does not hold; add that key behind the active one`,
        );
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(identity))
          .setAuthTag(Buffer.from(tag, 'base64url'));
        return Buffer.concat([decipher.update(Buffer.from(ciphertext, 'base64url')), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new ServiceError(
          'SecretUnreadable',
          `a stored secret does not open with the key "${id}": the key has changed, or the secret belongs to another record`,
          { cause },
        );
      }
    },
    isStale: (sealed) => sealed.split(':')[1] !== activeId,
  };
}

function parseKey(entry: string, position: number): { id: string; key: Buffer } {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, colon);
  if (colon < 1 || !KEY_ID.test(id))
    throw new Error(
      `SECRET_KEYS: entry ${position} must be id:base64(32 bytes), with an id of 1 to 32 letters, digits, "_" or "-" before the colon`,
    );
  const encoded = entry.slice(colon + 1);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw new Error(`SECRET_KEYS: the key "${id}" is not base64`);
  const key = Buffer.from(encoded, 'base64');
  if (key.length !== KEY_BYTES)
    throw new Error(`SECRET_KEYS: the key "${id}" has ${key.length} bytes; it must have ${KEY_BYTES} (openssl rand -base64 32)`);
  return { id, key };
}

/** The text of a ring with one new random key, as `SECRET_KEYS` takes it. */
export const newKeyRing = (): string => `k${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`;
