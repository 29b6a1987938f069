import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKeyRing, parseSecretKeys } from './secrets.ts';

/**
 * The keys that seal secrets: SECRET_KEYS, or, for the embedded service, one made at the first start and kept in the data folder.
 * @throws Error with one sentence when they cannot be read.
 */
export function secretKeysOf(given: string | undefined, dataDir: string): string {
  if (given) {
    parseSecretKeys(given);
    return given;
  }
  const path = join(dataDir, 'secret_keys');
  const kept = readKept(path);
  if (kept !== undefined) return kept;
  const made = newKeyRing();
  writeFileSync(`${path}.new`, `${made}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path); // whole or not at all: a lost key would take the secrets with it
  return made;
}

function readKept(path: string): string | undefined {
  try {
    const kept = readFileSync(path, 'utf8').trim();
    parseSecretKeys(kept);
    return kept;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `${path}, the key of the stored secrets, cannot be read (${reason}): restore it, or give its content as SECRET_KEYS`,
      {
        cause,
      },
    );
  }
}
