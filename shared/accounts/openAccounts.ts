import { newId } from '../identifiers/ids.ts';
import { accountKeys } from './accountKeys.ts';
import type { AccountStore } from './accountStore.ts';
import { type Administrator, ensureAdministrator } from './administrator.ts';
import { type Credentials, createCredentials } from './credentials.ts';
import type { LoginAttempts } from './loginAttempts.ts';
import type { LoginCache } from './loginCache.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { createTokens } from './tokens.ts';

export interface Accounts {
  accounts: AccountStore;
  passwords: Passwords;
  credentials: Credentials;
  /** Creates the first administrator where there is none. @param keep gets the credentials before the account is created */
  ensureAdministrator(
    wanted: Parameters<typeof ensureAdministrator>[1],
    keep: NonNullable<Parameters<typeof ensureAdministrator>[0]['keep']>,
  ): Promise<Administrator>;
}

/** Opens the module of accounts: users, passwords, API keys, tokens and login sessions. */
export function openAccounts({
  accounts,
  secretKeys,
  logins,
  attempts,
}: {
  accounts: AccountStore;
  /** The keys of the service. The first is active; the others still verify what they signed. */
  secretKeys: Parameters<typeof accountKeys>[0];
  logins: LoginCache;
  attempts: LoginAttempts;
}): Accounts {
  const now = () => new Date();
  const keys = accountKeys(secretKeys);
  const passwords = createPasswords({ atOnce: 2, waiting: 300, waitingOfOne: 100 });
  const tokens = createTokens(keys, now);
  const credentials = createCredentials({ accounts, passwords, tokens, loginCache: logins, attempts, keys, now, newId });
  return {
    accounts,
    passwords,
    credentials,
    ensureAdministrator: (wanted, keep) => ensureAdministrator({ accounts, passwords, keep }, wanted),
  };
}
