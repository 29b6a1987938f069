import { randomBytes } from 'node:crypto';
import { newId } from '../identifiers/ids.ts';
import type { AccountStore } from './accountStore.ts';
import { apiKeyHash, newApiKeyText, truncatedApiKey } from './apiKeyText.ts';
import type { Passwords } from './passwords.ts';

/** The administrator's credentials; password and key are given only by the start that created them. */
export type Administrator =
  | { created: true; email: string; password: string; apiKey: string }
  | { created: false; email: string };

/**
 * Creates the first administrator, with an API key, unless there is one. What is not given is generated. Of processes that start together one
 * creates; the others get `created: false`.
 */
export async function ensureAdministrator(
  deps: {
    accounts: AccountStore;
    passwords: Passwords;
    /** Gets the credentials before they are stored as hashes, which cannot be read back. */
    keep?(credentials: { email: string; password: string; apiKey: string }): void;
  },
  given: { email?: string | undefined; password?: string | undefined; apiKey?: string | undefined },
): Promise<Administrator> {
  const existing = await deps.accounts.firstAdministrator();
  if (existing) return { created: false, email: existing };
  const email = given.email ?? 'admin@assay.local';
  // A generated one satisfies the rules for passwords: lower and upper case, a digit, a special character.
  const password = given.password ?? `Aa1-${randomBytes(18).toString('base64url')}`;
  const apiKey = given.apiKey ?? newApiKeyText();
  deps.keep?.({ email, password, apiKey });
  const userId = newId();
  const inserted = await deps.accounts.insertFirstAdministrator(
    { id: userId, email, role: 'admin', passwordHash: await deps.passwords.hash(password) },
    {
      id: newId(),
      userId,
      keyHash: apiKeyHash(apiKey),
      truncated: truncatedApiKey(apiKey),
      description: "the first administrator's key",
      projectId: null,
      projectRole: null,
      expiresAt: null,
    },
  );
  return inserted.created ? { created: true, email, password, apiKey } : { created: false, email: inserted.email };
}
