import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { z } from 'zod';
import type * as accounts from '../../shared/accounts/accountStore.ts';
import { type ApiKeyDeps, createApiKey, deleteApiKey, listApiKeys } from '../../shared/accounts/apiKeys.ts';
import type { Credentials, Session } from '../../shared/accounts/credentials.ts';
import { createInvitedUser, type InvitationDeps } from '../../shared/accounts/invitations.ts';
import { type Caller, LOGGER, mayInOrganization } from '../../shared/accounts/permissions.ts';
import { REFRESH_TOKEN_SECONDS } from '../../shared/accounts/tokens.ts';
import { changeRole, createUser, removeUser } from '../../shared/accounts/users.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ProjectAccess } from '../../shared/projects/access.ts';
import {
  type ApiKey,
  ApiKeyLoginRequest,
  ApiKeysPage,
  CreateApiKeyRequest,
  CreatedApiKey,
  CreateUserQuery,
  CreateUserRequest,
  GroupCreate,
  GroupMembers,
  GroupMembersCreate,
  GroupMembersPage,
  LoginForm,
  SocialLoginRequest,
  Token,
  User,
  UserGroup,
  UserGroupsPage,
  UsersPage,
  UserUpdate,
} from '../../shared/wire/accounts.ts';
import { PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import type { ClientAddresses } from '../callers/clientAddress.ts';
import { cookieOf, REFRESH_COOKIE } from '../callers/loginCookies.ts';
import { LOGIN_BODY_BYTES, loginClient, UserParams } from '../callers/loginRequest.ts';
import { publicPathOf } from '../http/publicHost.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { toUser } from '../views/users.ts';

export type AccountDeps = InvitationDeps &
  ApiKeyDeps & { credentials: Credentials; access: ProjectAccess; clients: ClientAddresses };

const tag = 'Accounts';

/** Logins, users, API keys and groups of users. */
export function accountRoutes(deps: AccountDeps): Endpoint[] {
  return [...loginRoutes(deps), ...userRoutes(deps), ...apiKeyRoutes(deps), ...groupRoutes(deps)];
}

const loginRoutes = ({ credentials, clients }: AccountDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/login',
    errors: ['Unauthenticated', 'TooManyRequests'],
    summary: 'Log in with email and password',
    tag,
    access: 'public',
    body: LoginForm,
    bodyKind: 'urlencoded',
    bodyLimit: LOGIN_BODY_BYTES,
    response: Token,
    handle: async ({ body, request }) =>
      sessionReply(
        clients,
        request,
        await credentials.logInWithPassword(body.username, body.password, loginClient(clients, request)),
      ),
  }),
  endpoint({
    method: 'post',
    path: '/login/api_key',
    errors: ['Unauthenticated'],
    summary: 'Log in with an API key',
    tag,
    access: 'public',
    body: ApiKeyLoginRequest,
    bodyLimit: LOGIN_BODY_BYTES,
    response: Token,
    handle: async ({ body, request }) => sessionReply(clients, request, await credentials.logInWithApiKey(body.api_key)),
  }),
  endpoint({
    method: 'post',
    path: '/login/social',
    summary: 'Log in with the token of another provider: none is set up on this service',
    tag,
    access: 'public',
    body: SocialLoginRequest,
    bodyLimit: LOGIN_BODY_BYTES,
    response: Token,
    async handle({ body }) {
      throw new ServiceError('BadRequest', `no login through ${body.provider} here: use an API key, or email and password`);
    },
  }),
  endpoint({
    method: 'post',
    path: '/refresh_token',
    errors: ['Unauthenticated'],
    summary: 'A new access token for the refresh_token cookie, which is replaced',
    tag,
    access: 'public',
    bodyLimit: LOGIN_BODY_BYTES,
    response: Token,
    handle: async ({ request }) =>
      sessionReply(clients, request, await credentials.refresh(givenRefreshToken(request), loginClient(clients, request))),
  }),
];

const userRoutes = (deps: AccountDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/current_user',
    summary: 'The user who calls',
    tag,
    access: 'signedIn',
    response: User,
    handle: async ({ caller }) => toUser(caller, orNotFound(await deps.accounts.user(caller.userId))),
  }),
  endpoint({
    method: 'get',
    path: '/users',
    summary: 'All users',
    tag,
    access: { organization: 'read_users' },
    query: PageQuery,
    response: UsersPage,
    async handle({ query, caller }) {
      const { items, hasMore } = await deps.accounts.users(toPage(query));
      return { users: items.map((one) => toUser(caller, one)), ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'post',
    path: '/users',
    errors: ['Conflict'],
    summary: 'Create a user',
    tag,
    access: { organization: 'manage_users' },
    query: CreateUserQuery,
    body: CreateUserRequest,
    response: User,
    handle: async ({ query: { signup_token }, body, caller }) =>
      toUser(
        caller,
        signup_token === undefined ? await createUser(deps, body) : await createInvitedUser(deps, signup_token, body),
      ),
  }),
  endpoint({
    method: 'put',
    path: '/users/{user_id}',
    errors: ['Conflict'],
    summary: "Change a user's role",
    tag,
    access: { organization: 'manage_users' },
    params: UserParams,
    body: UserUpdate,
    response: User,
    handle: async ({ params, body, caller }) => toUser(caller, await changeRole(deps, params.user_id, body.role)),
  }),
  endpoint({
    method: 'delete',
    path: '/users/{user_id}',
    errors: ['Conflict'],
    summary: 'Remove another user with their keys and tokens',
    tag,
    access: { organization: 'manage_users' },
    params: UserParams,
    status: 204,
    handle: async ({ params, caller }) => removeUser(deps, caller, params.user_id),
  }),
];

const apiKeyRoutes = (deps: AccountDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/users/api_keys',
    errors: ['NotFound'],
    summary: 'Create an API key of the caller; the only answer that shows it',
    tag,
    access: 'signedIn',
    body: CreateApiKeyRequest,
    response: CreatedApiKey,
    async handle({ body, caller }) {
      const { key, text } = await createApiKey(deps, caller, toNewApiKey(body));
      return { ...toApiKey(key), api_key: text };
    },
  }),
  endpoint({
    method: 'get',
    path: '/users/{user_id}/api_keys',
    summary: "A user's API keys",
    tag,
    access: 'signedIn',
    params: UserParams,
    query: PageQuery,
    response: ApiKeysPage,
    async handle({ params, query, caller }) {
      const { items, hasMore } = await listApiKeys(deps, caller, params.user_id, toPage(query));
      return { api_keys: items.map(toApiKey), ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/users/api_keys/{api_key_id}',
    summary: 'Delete an API key; it and the tokens made with it end at once',
    tag,
    access: 'signedIn',
    params: z.object({ api_key_id: Uuid }),
    status: 204,
    handle: async ({ params, caller }) => deleteApiKey(deps, caller, params.api_key_id),
  }),
];

const groupRoutes = (deps: AccountDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/groups',
    errors: ['Conflict'],
    summary: 'Create a group of users',
    tag,
    access: { organization: 'manage_users' },
    body: GroupCreate,
    response: UserGroup,
    handle: async ({ body, caller }) => toGroup(await deps.accounts.insertGroup(toNewGroup(deps, caller, body))),
  }),
  endpoint({
    method: 'get',
    path: '/groups',
    summary: 'Groups of users; hidden ones for their members and administrators',
    tag,
    access: { organization: 'read_users' },
    query: PageQuery,
    response: UserGroupsPage,
    async handle({ query, caller }) {
      const seesHidden = mayInOrganization(caller, 'manage_users');
      const { items, hasMore } = await deps.accounts.groups(caller.userId, seesHidden, toPage(query));
      return { groups: items.map(toGroup), ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'post',
    path: '/groups/{group_id}/members',
    summary: 'Add users to a group, or change their role in it',
    tag,
    access: { organization: 'manage_users' },
    params: z.object({ group_id: Uuid }),
    body: GroupMembersCreate,
    response: GroupMembers,
    async handle({ params, body }) {
      const members = body.map(({ user_id, role }) => ({ userId: user_id, role: role ?? ('member' as const) }));
      await deps.accounts.setGroupMembers(params.group_id, members);
      deps.access.forget();
      return members.map(({ userId, role }) => ({ user_id: userId, group_role: role }));
    },
  }),
  endpoint({
    method: 'get',
    path: '/groups/{group_id}/members',
    summary: 'The users of a group, by e-mail',
    tag,
    access: { organization: 'manage_users' },
    params: z.object({ group_id: Uuid }),
    query: PageQuery,
    response: GroupMembersPage,
    async handle({ params, query }) {
      const { items, hasMore } = await deps.accounts.groupMembers(params.group_id, toPage(query));
      const members = items.map(({ userId, email, role }) => ({ user_id: userId, email, group_role: role }));
      return { members, ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/groups/{group_id}/members/{user_id}',
    errors: ['NotFound'],
    summary: 'Take a user out of a group',
    description:
      'What is shared with the group is not shared with them any more: at once in this process, within a second in others.',
    tag,
    access: { organization: 'manage_users' },
    status: 204,
    params: z.object({ group_id: Uuid, user_id: Uuid }),
    async handle({ params }) {
      if (!(await deps.accounts.removeGroupMember(params.group_id, params.user_id)))
        throw new ServiceError('NotFound', 'no such user in this group');
      deps.access.forget();
    },
  }),
];

const toPage = ({ starting_token, limit }: PageRequest): accounts.Page => ({ offset: starting_token, limit });

function orNotFound<T>(value: T | undefined): T {
  if (value === undefined) throw new ServiceError('NotFound', 'no such user');
  return value;
}

/** The access token as the body, the refresh token as a cookie that scripts cannot read and other sites cannot send. */
function sessionReply(clients: ClientAddresses, request: Request, { accessToken, refreshToken }: Session): Reply {
  const secure = clients.isTls(request) ? '; Secure' : '';
  const attributes = `Max-Age=${REFRESH_TOKEN_SECONDS}; Path=${publicPathOf(request) || '/'}; HttpOnly; SameSite=Strict${secure}`;
  return new Reply({
    body: { access_token: accessToken, token_type: 'bearer' },
    headers: { 'Set-Cookie': `${REFRESH_COOKIE}=${refreshToken}; ${attributes}` },
  });
}

function givenRefreshToken(request: IncomingMessage): string {
  const value = cookieOf(request, REFRESH_COOKIE);
  if (!value) throw new ServiceError('Unauthenticated', 'no refresh_token cookie: log in');
  return value;
}

const toNewApiKey = (body: z.output<typeof CreateApiKeyRequest>) => ({
  description: body.description,
  expiresAt: body.expires_at ? new Date(body.expires_at) : null,
  projectId: body.project_id ?? null,
  projectRole: body.ingest_only ? LOGGER : (body.project_role ?? null),
});

const toApiKey = (key: accounts.ApiKey): z.input<typeof ApiKey> => ({
  id: key.id,
  created_at: key.createdAt.toISOString(),
  updated_at: key.updatedAt.toISOString(),
  last_used: key.lastUsed?.toISOString() ?? null,
  truncated: key.truncated,
  description: key.description,
  expires_at: key.expiresAt?.toISOString() ?? null,
  project_id: key.projectId,
  project_role: key.projectRole === LOGGER ? null : key.projectRole,
  ingest_only: key.projectRole === LOGGER,
});

const toNewGroup = (deps: AccountDeps, caller: Caller, body: z.output<typeof GroupCreate>) => ({
  id: deps.newId(),
  name: body.name,
  description: body.description ?? null,
  visibility: body.visibility ?? ('public' as const),
  createdBy: caller.userId,
});

const toGroup = (group: accounts.UserGroup): z.input<typeof UserGroup> => ({
  id: group.id,
  name: group.name,
  description: group.description,
  visibility: group.visibility,
  created_at: group.createdAt.toISOString(),
});
