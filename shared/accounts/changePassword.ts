import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { AccountStore, User } from './accountStore.ts';
import type { Credentials } from './credentials.ts';
import { refuseProjectKey } from './loginSessions.ts';
import { newOneTimeToken, oneTimeTokenHash } from './oneTimeToken.ts';
import type { Passwords } from './passwords.ts';
import type { Caller } from './permissions.ts';

export interface PasswordDeps {
  accounts: AccountStore;
  passwords: Passwords;
  credentials: Pick<Credentials, 'forget' | 'ofPassword'>;
  now: () => Date;
}

/** Time in which an administrator's reset can be used. */
const RESET_MS = 24 * 3_600_000;

/**
 * Gives the caller a new password. All their sessions end but the one that asks; API keys stay. A wrong old password counts as a failed login.
 * @throws RequestInvalid for a wrong old password; ServiceError `Forbidden` for a key limited to a project, `TooManyRequests`
 */
export async function changePassword(
  { accounts, passwords, credentials }: PasswordDeps,
  caller: Caller,
  input: { oldPassword: string; newPassword: string; address: string },
): Promise<void> {
  refuseProjectKey(caller);
  await credentials.ofPassword(caller.email, input.oldPassword, input.address).catch((err) => {
    if (!(err instanceof ServiceError) || err.code !== 'Unauthenticated') throw err;
    throw new RequestInvalid([
      { loc: ['body', 'old_password'], msg: 'is not the password of this account', type: 'password_wrong' },
    ]);
  });
  await accounts.setPassword(caller.userId, await passwords.hash(input.newPassword), caller.sessionId);
  credentials.forget();
}

/**
 * A one-time token with which a user sets a new password; an earlier one of the same user is no longer good. The answer is the only sight of it.
 * Until it is used nothing changes for the user.
 * @throws ServiceError `NotFound`
 */
export async function startPasswordReset(
  { accounts, now }: PasswordDeps,
  caller: Caller,
  userId: string,
): Promise<{ user: User; resetToken: string; expiresAt: Date }> {
  const user = await accounts.user(userId);
  if (!user) throw new ServiceError('NotFound', 'no such user');
  const resetToken = newOneTimeToken();
  const expiresAt = new Date(now().getTime() + RESET_MS);
  await accounts.insertPasswordReset({ userId, tokenHash: oneTimeTokenHash(resetToken), createdBy: caller.userId, expiresAt });
  return { user, resetToken, expiresAt };
}

/** Sets the new password of the user whom the token was made for; all their sessions end. @throws ServiceError `Unauthenticated` */
export async function finishPasswordReset(
  { accounts, passwords, credentials, now }: PasswordDeps,
  input: { resetToken: string; newPassword: string },
): Promise<void> {
  const tokenHash = oneTimeTokenHash(input.resetToken);
  const refusal = () =>
    new ServiceError('Unauthenticated', 'this reset token is unknown, was used or has ended: ask for another');
  // Asked first, so that a wrong token does not cost a hash; who spends it is decided below.
  if (!(await accounts.isPasswordReset(tokenHash, now()))) throw refusal();
  const passwordHash = await passwords.hash(input.newPassword);
  if (!(await accounts.spendPasswordReset(tokenHash, now(), passwordHash))) throw refusal();
  credentials.forget();
}
