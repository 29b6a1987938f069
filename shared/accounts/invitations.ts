import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { User } from './accountStore.ts';
import { newOneTimeToken, oneTimeTokenHash } from './oneTimeToken.ts';
import type { Caller, UserRole } from './permissions.ts';
import type { UserDeps } from './users.ts';

export interface InvitationDeps extends UserDeps {
  now: () => Date;
}

/** Time in which an invitation can be accepted. */
const INVITATION_MS = 7 * 24 * 3_600_000;

export interface Invited {
  email: string;
  /** The answer to the administrator is the only sight of it. */
  token: string;
  expiresAt: Date;
}

/**
 * Offers accounts to people who have none; a second invitation of one replaces the first. All are invited or none.
 * @throws ServiceError `Conflict` for those who have an account, `NotFound` for a group that is not there
 */
export async function inviteUsers(
  { accounts, now }: InvitationDeps,
  caller: Caller,
  input: { emails: readonly string[]; role: UserRole; groupIds: readonly string[] },
): Promise<Invited[]> {
  const expiresAt = new Date(now().getTime() + INVITATION_MS);
  const byAddress = new Map(input.emails.map((email) => [email.toLowerCase(), email]));
  const invited = [...byAddress.values()].map((email) => ({ email, token: newOneTimeToken(), expiresAt }));
  await accounts.insertInvitations(
    invited.map(({ email, token }) => ({ email, tokenHash: oneTimeTokenHash(token), expiresAt })),
    { role: input.role, groupIds: [...new Set(input.groupIds)], createdBy: caller.userId },
  );
  return invited;
}

/**
 * Makes the account that somebody was invited to, with the role and the groups of the invitation.
 * @throws ServiceError `Unauthenticated` for a token that is not good, `Conflict` for an account that is there by now
 */
export async function acceptInvitation(deps: InvitationDeps, input: { signupToken: string; password: string }): Promise<User> {
  const tokenHash = oneTimeTokenHash(input.signupToken);
  const refusal = () =>
    new ServiceError('Unauthenticated', 'this sign-up token is unknown, was used or has ended: ask for another');
  // Asked first, so that a wrong token does not cost a hash; who spends it is decided below.
  const invitation = await deps.accounts.invitation(tokenHash, deps.now());
  if (!invitation) throw refusal();
  const made = await insertInvited(deps, tokenHash, { ...invitation, password: input.password });
  if (!made) throw refusal();
  return made;
}

/**
 * Makes an account as an administrator describes it, for somebody who was invited, and spends the invitation.
 * @throws RequestInvalid for a token that is not good for this email
 */
export async function createInvitedUser(
  deps: InvitationDeps,
  signupToken: string,
  input: { email: string; password: string; role: UserRole },
): Promise<User> {
  const made = await insertInvited(deps, oneTimeTokenHash(signupToken), input);
  if (made) return made;
  const msg = 'is unknown, was used, has ended, or is that of another email';
  throw new RequestInvalid([{ loc: ['query', 'signup_token'], msg, type: 'signup_token_wrong' }]);
}

async function insertInvited(
  { accounts, passwords, credentials, newId, now }: InvitationDeps,
  tokenHash: string,
  { email, role, password }: { email: string; password: string; role: UserRole },
): Promise<User | undefined> {
  const passwordHash = await passwords.hash(password);
  const made = await accounts.spendInvitation(tokenHash, now(), { id: newId(), email, role, passwordHash });
  credentials.forget(); // that there was no such account
  return made;
}
