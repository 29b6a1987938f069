import { ServiceError } from '../errors/errors.ts';
import type { AccountStore, User, UserChange } from './accountStore.ts';
import type { Credentials } from './credentials.ts';
import type { Passwords } from './passwords.ts';
import { type Caller, mayOnUser, type UserRole } from './permissions.ts';

export interface UserDeps {
  accounts: AccountStore;
  passwords: Passwords;
  credentials: Pick<Credentials, 'forget'>;
  newId: () => string;
}

/** @throws ServiceError `Conflict` when the email is taken. */
export async function createUser(
  { accounts, passwords, credentials, newId }: UserDeps,
  input: { email: string; password: string; role: UserRole },
): Promise<User> {
  const passwordHash = await passwords.hash(input.password);
  const created = await accounts.insertUser({ id: newId(), email: input.email, role: input.role, passwordHash });
  credentials.forget(); // that there was no such account
  return created;
}

/** Gives a user another role, from their next request on. @throws ServiceError `NotFound`, or `Conflict` for the last administrator. */
export async function changeRole({ accounts, credentials }: UserDeps, userId: string, role: UserRole): Promise<User> {
  const changed = orRefusal(await accounts.setRole(userId, role));
  credentials.forget();
  return changed;
}

/**
 * Removes a user; their keys and tokens end at once.
 * @throws ServiceError `Forbidden` for oneself, `NotFound`, or `Conflict` where two administrators remove each other and this is the last.
 */
export async function removeUser({ accounts, credentials }: UserDeps, caller: Caller, userId: string): Promise<void> {
  if (!mayOnUser(caller, userId, 'delete'))
    throw new ServiceError('Forbidden', 'not allowed: administrators are removed by another administrator, not by themselves');
  orRefusal(await accounts.removeUser(userId));
  credentials.forget();
}

function orRefusal<T>(change: UserChange<T>): Exclude<T, 'unknown' | 'last_administrator'> {
  if (change === 'unknown') throw new ServiceError('NotFound', 'no such user');
  if (change === 'last_administrator')
    throw new ServiceError('Conflict', 'this is the last administrator: make another user one first');
  return change as Exclude<T, 'unknown' | 'last_administrator'>;
}
