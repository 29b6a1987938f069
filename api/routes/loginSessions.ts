import { z } from 'zod';
import type * as accounts from '../../shared/accounts/accountStore.ts';
import {
  changePassword,
  finishPasswordReset,
  type PasswordDeps,
  startPasswordReset,
} from '../../shared/accounts/changePassword.ts';
import type { Credentials } from '../../shared/accounts/credentials.ts';
import { endAllSessions, endSession, listSessions, refuseProjectKey } from '../../shared/accounts/loginSessions.ts';
import type { Caller } from '../../shared/accounts/permissions.ts';
import {
  type LoginSession,
  LoginSessionsPage,
  PasswordChange,
  PasswordReset,
  PasswordResetCreated,
} from '../../shared/wire/accounts.ts';
import { NoKeys, NoQuery, PageQuery, pageFields, Uuid } from '../../shared/wire/common.ts';
import type { ClientAddresses } from '../callers/clientAddress.ts';
import { cookieOf, REFRESH_COOKIE } from '../callers/loginCookies.ts';
import { LOGIN_BODY_BYTES, UserParams } from '../callers/loginRequest.ts';
import { publicPathOf } from '../http/publicHost.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';

export type LoginSessionDeps = PasswordDeps & { credentials: Credentials; clients: ClientAddresses };

const tag = 'Accounts';
const keysStay = 'API keys, and the tokens made with them, are no sessions: they stay.';

/** Sessions (logins by password) and passwords of users. */
export const loginSessionRoutes = (deps: LoginSessionDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/logout',
    summary: 'End the session of the bearer token and of the refresh_token cookie',
    description: 'Also with tokens that have ended, or none: there is nothing to end then.',
    tag,
    access: 'public',
    status: 204,
    async handle({ request }) {
      const [, access] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
      await deps.credentials.logOut({ access, refresh: cookieOf(request, REFRESH_COOKIE) });
      return new Reply({
        headers: {
          'Set-Cookie': `${REFRESH_COOKIE}=; Max-Age=0; Path=${publicPathOf(request) || '/'}; HttpOnly; SameSite=Strict`,
        },
      });
    },
  }),
  endpoint({
    method: 'get',
    path: '/current_user/sessions',
    summary: "The caller's sessions: logins by password that have not ended, the last used first",
    description: `The hundred last used are listed. ${keysStay}`,
    tag,
    access: 'signedIn',
    query: PageQuery,
    response: LoginSessionsPage,
    async handle({ query, caller }) {
      const page = { offset: query.starting_token, limit: query.limit };
      const { items, hasMore } = await listSessions(deps, caller, page);
      return { sessions: items.map((one) => toSession(caller, one)), ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/current_user/sessions',
    query: NoQuery,
    summary: 'End all sessions of the caller, this one and those that are not listed included',
    description: keysStay,
    tag,
    access: 'signedIn',
    status: 204,
    async handle({ caller }) {
      refuseProjectKey(caller);
      await endAllSessions(deps, caller.userId);
    },
  }),
  endpoint({
    method: 'delete',
    path: '/current_user/sessions/{session_id}',
    summary: 'End a session of the caller',
    tag,
    access: 'signedIn',
    params: z.object({ session_id: Uuid }),
    status: 204,
    handle: async ({ params, caller }) => endSession(deps, caller, params.session_id),
  }),
  endpoint({
    method: 'delete',
    path: '/users/{user_id}/sessions',
    query: NoQuery,
    summary: 'End all sessions of a user',
    description: keysStay,
    tag,
    access: { organization: 'manage_users' },
    params: UserParams,
    status: 204,
    handle: async ({ params }) => endAllSessions(deps, params.user_id),
  }),
  endpoint({
    method: 'put',
    path: '/current_user/password',
    summary: "Change the caller's password; all their other sessions end",
    description: `A wrong \`old_password\` is 422, and counts as a failed login. ${keysStay}`,
    tag,
    access: 'signedIn',
    body: PasswordChange,
    bodyLimit: LOGIN_BODY_BYTES,
    status: 204,
    handle: async ({ body, caller, request }) =>
      changePassword(deps, caller, {
        oldPassword: body.old_password,
        newPassword: body.new_password,
        address: deps.clients.of(request),
      }),
  }),
  endpoint({
    method: 'post',
    path: '/users/{user_id}/password_reset',
    summary: 'A one-time token with which a user sets a new password, good for a day; the only answer that shows it',
    description: 'Nothing changes for the user until it is used. A new one replaces it.',
    tag,
    access: { organization: 'manage_users' },
    params: UserParams,
    body: NoKeys,
    bodyLimit: LOGIN_BODY_BYTES,
    response: PasswordResetCreated,
    async handle({ params, caller }) {
      const { user, resetToken, expiresAt } = await startPasswordReset(deps, caller, params.user_id);
      return { user_id: user.id, email: user.email, reset_token: resetToken, expires_at: expiresAt.toISOString() };
    },
  }),
  endpoint({
    method: 'post',
    path: '/password_reset',
    errors: ['Unauthenticated', 'TooManyRequests'],
    summary: 'Set a new password with a reset token; all sessions of its user end',
    tag,
    access: 'public',
    body: PasswordReset,
    bodyLimit: LOGIN_BODY_BYTES,
    status: 204,
    handle: async ({ body }) => finishPasswordReset(deps, { resetToken: body.reset_token, newPassword: body.new_password }),
  }),
];

const toSession = (caller: Caller, session: accounts.LoginSession): z.input<typeof LoginSession> => ({
  id: session.id,
  created_at: session.createdAt.toISOString(),
  last_used: session.lastUsed.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  address: session.address,
  user_agent: session.userAgent,
  is_current: session.id === caller.sessionId,
});
