import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKeyRing } from './integrations/secrets.ts';

/**
 * The key ring that seals secrets: SECRET_KEYS, or, for the embedded service, one made at the first start and kept in the data folder.
 * @throws Error when there is none and the service does not own a data folder.
 */
export function secretKeysOf(given: string | undefined, dataDir: string | undefined): string {
  if (given) return given;
  if (!dataDir)
    throw new Error(
      'SECRET_KEYS is not set: without it secrets cannot be sealed (id:base64 of 32 bytes, comma separated, the first one active)',
    );
  const path = join(dataDir, 'secret_keys');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
  const made = newKeyRing();
  writeFileSync(path, `${made}\n`, { mode: 0o600, flag: 'wx' });
  return made;
}
