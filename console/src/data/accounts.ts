import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  ApiKey,
  CreatedApiKey,
  InvitedUsers,
  ListedMember,
  LoginSession,
  PasswordResetCreated,
  User,
  UserGroup,
  userActions,
  userRoles,
} from '../../../shared/wire/accounts.ts';
import { queryClient, send } from './service.ts';

export type UserRow = z.output<typeof User>;
export type UserRole = (typeof userRoles)[number];
export type Key = z.output<typeof ApiKey>;
export type Session = z.output<typeof LoginSession>;
export type Group = z.output<typeof UserGroup>;

/** Most that are listed at once. */
const MOST = 1_000;

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }) => (await send<{ users: UserRow[] }>('/users', { signal, query: { limit: MOST } })).users,
});

export const mayOnUser = (user: UserRow, wanted: (typeof userActions)[number]): boolean =>
  user.permissions.some(({ action, allowed }) => action === wanted && allowed);

export async function createUser(user: { email: string; password: string; role: UserRole }): Promise<void> {
  await send('/users', { body: user });
  await queryClient.invalidateQueries({ queryKey: ['users'] });
}

/** @returns the link with which they make the account, which no other answer shows */
export async function inviteUser({ email, role }: { email: string; role: UserRole }): Promise<string> {
  const body = { emails: [email], role };
  const [invitation] = (await send<z.output<typeof InvitedUsers>>('/invite_users', { body })).invitations;
  return (invitation as { signup_url: string }).signup_url;
}

export async function changeUserRole(id: string, role: UserRole): Promise<void> {
  await send(`/users/${id}`, { method: 'PUT', body: { role } });
  await Promise.all(['users', 'current user'].map((first) => queryClient.invalidateQueries({ queryKey: [first] })));
}

export const endSessionsOf = (id: string) => send(`/users/${id}/sessions`, { method: 'DELETE' });

/** A token with which a user sets a new password, once, within a day. */
export const startPasswordReset = (id: string) =>
  send<z.output<typeof PasswordResetCreated>>(`/users/${id}/password_reset`, { method: 'POST', body: {} });

export const changePassword = (old_password: string, new_password: string) =>
  send('/current_user/password', { method: 'PUT', body: { old_password, new_password } });

export const groupsQuery = queryOptions({
  queryKey: ['groups'],
  queryFn: async ({ signal }) => (await send<{ groups: Group[] }>('/groups', { signal, query: { limit: MOST } })).groups,
});

export async function createGroup(group: { name: string; description: string; visibility: Group['visibility'] }): Promise<void> {
  await send('/groups', { body: { ...group, description: group.description || null } });
  await queryClient.invalidateQueries({ queryKey: ['groups'] });
}

export type GroupRole = 'member' | 'maintainer' | 'pending';

export const membersQuery = (groupId: string) =>
  queryOptions({
    queryKey: ['groups', groupId, 'members'],
    queryFn: async ({ signal }) => {
      const page = await send<{ members: ListedMember[] }>(`/groups/${groupId}/members`, { signal, query: { limit: MOST } });
      return page.members;
    },
  });

/** Adds a user to a group, or changes their role there. */
export async function addToGroup(groupId: string, user_id: string, role: GroupRole): Promise<void> {
  await send(`/groups/${groupId}/members`, { body: [{ user_id, role }] });
  await queryClient.invalidateQueries({ queryKey: ['groups', groupId] });
}

export async function removeFromGroup(groupId: string, userId: string): Promise<void> {
  await send(`/groups/${groupId}/members/${userId}`, { method: 'DELETE' });
  await queryClient.invalidateQueries({ queryKey: ['groups', groupId] });
}

export const keysQuery = (userId: string) =>
  queryOptions({
    queryKey: ['api keys', userId],
    queryFn: async ({ signal }) =>
      (await send<{ api_keys: Key[] }>(`/users/${userId}/api_keys`, { signal, query: { limit: MOST } })).api_keys,
  });

export interface NewKey {
  description: string;
  expires_at: string | null;
  project_id: string | null;
  project_role: Key['project_role'];
  ingest_only: boolean;
}

/** @returns the key with its text, which no other answer shows */
export async function createKey(key: NewKey): Promise<z.output<typeof CreatedApiKey>> {
  const made = await send<z.output<typeof CreatedApiKey>>('/users/api_keys', { body: key });
  await queryClient.invalidateQueries({ queryKey: ['api keys'] });
  return made;
}

/** The key is refused from now on, with the tokens that were made with it. */
export async function revokeKey(id: string): Promise<void> {
  await send(`/users/api_keys/${id}`, { method: 'DELETE' });
  await queryClient.invalidateQueries({ queryKey: ['api keys'] });
}

const sessionsPage = (signal?: AbortSignal) =>
  send<{ sessions: Session[] }>('/current_user/sessions', { ...(signal && { signal }), query: { limit: 100 } });

/** Where the account is signed in by password, the last used first: at most the hundred that the service lists. */
export const sessionsQuery = queryOptions({
  queryKey: ['sessions of the account'],
  queryFn: async ({ signal }) => (await sessionsPage(signal)).sessions,
});

const isEnded = (err: unknown): void => {
  if ((err as { status?: number }).status !== 404) throw err;
};

/** Ends them; those that have ended meanwhile are ended. */
export async function endSessions(ids: readonly string[]): Promise<void> {
  for (const id of ids) await send(`/current_user/sessions/${id}`, { method: 'DELETE' }).catch(isEnded);
  await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
}

/** Ends all but this one, those that are not listed included. @returns how many there were */
export async function endOtherSessions(): Promise<number> {
  for (let count = 0; ; ) {
    const others = (await sessionsPage()).sessions.filter((one) => !one.is_current);
    if (others.length === 0) return count;
    await endSessions(others.map(({ id }) => id));
    count += others.length;
  }
}
