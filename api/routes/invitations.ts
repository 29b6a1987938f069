import type { Request } from 'express';
import { acceptInvitation, type InvitationDeps, type Invited, inviteUsers } from '../../shared/accounts/invitations.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { InvitedUsers, InviteUsersRequest, SignedUp, Signup, SignupLink, SignupLinkQuery } from '../../shared/wire/accounts.ts';
import { NoKeys } from '../../shared/wire/common.ts';
import { LOGIN_BODY_BYTES } from '../callers/loginRequest.ts';
import { publicUrlOf } from '../http/publicHost.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const tag = 'Accounts';
const handedOn =
  'The service sends no mail: hand the link on. It is good for a week and for one account; another one of the same email replaces it.';

/** Accounts that administrators offer, by links with which people choose their password. */
export const invitationRoutes = (deps: InvitationDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/signup_link',
    errors: ['Conflict'],
    summary: 'A link with which somebody makes their read_only account; the only answer that shows it',
    description: handedOn,
    tag,
    access: { organization: 'manage_users' },
    query: SignupLinkQuery,
    body: NoKeys,
    bodyLimit: LOGIN_BODY_BYTES,
    response: SignupLink,
    async handle({ query, caller, request }) {
      const to = { emails: [query.user_email], role: 'read_only' as const, groupIds: [] };
      const [invited] = await inviteUsers(deps, caller, to);
      return { signup_url: signupUrl(request, invited as Invited) };
    },
  }),
  endpoint({
    method: 'post',
    path: '/invite_users',
    errors: ['Conflict', 'NotFound'],
    summary: 'Links with which people make their accounts, with a role and in groups; the only answer that shows them',
    description: `All are invited or none. ${handedOn}`,
    tag,
    access: { organization: 'manage_users' },
    body: InviteUsersRequest,
    response: InvitedUsers,
    async handle({ body: { auth_method, emails, role, group_ids }, caller, request }) {
      if (auth_method !== 'email' && auth_method !== 'invite')
        throw new ServiceError('BadRequest', `no login through ${auth_method} here: invite by email`);
      const invited = await inviteUsers(deps, caller, { emails, role, groupIds: group_ids });
      return {
        invitations: invited.map((one) => ({
          email: one.email,
          signup_url: signupUrl(request, one),
          expires_at: one.expiresAt.toISOString(),
        })),
      };
    },
  }),
  endpoint({
    method: 'post',
    path: '/signup',
    errors: ['Unauthenticated', 'Conflict'],
    summary: 'Make the account of an invitation, with a password of your own',
    tag,
    access: 'public',
    body: Signup,
    bodyLimit: LOGIN_BODY_BYTES,
    response: SignedUp,
    async handle({ body }) {
      const { email } = await acceptInvitation(deps, { signupToken: body.signup_token, password: body.password });
      return { email };
    },
  }),
];

/** The page of the console that asks for the password. Its parameter `token` is what existing clients read. */
const signupUrl = (request: Request, { email, token }: Invited): string =>
  `${publicUrlOf(request)}/console/sign-up?${new URLSearchParams({ token, email })}`;
