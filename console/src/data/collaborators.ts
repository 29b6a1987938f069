import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { CollaboratorRoleInfo, GroupCollaborator, UserCollaborator } from '../../../shared/wire/projects.ts';
import { queryClient, send } from './service.ts';

export type Person = z.output<typeof UserCollaborator>;
export type SharedGroup = z.output<typeof GroupCollaborator>;
export type Role = Person['role'];

/** Most that are listed at once. */
const MOST = 1_000;

export const rolesQuery = queryOptions({
  queryKey: ['collaborator roles'],
  queryFn: ({ signal }) => send<z.output<typeof CollaboratorRoleInfo>[]>('/collaborator_roles', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * The people and groups with whom a thing is shared.
 * @param thing its path, such as `/projects/…`
 */
export const sharedWithQuery = (thing: string) =>
  queryOptions({
    queryKey: ['collaborators', thing],
    queryFn: async ({ signal }) => {
      const call = { signal, query: { limit: MOST } };
      const [users, groups] = await Promise.all([
        send<{ collaborators: Person[] }>(`${thing}/users`, call),
        send<{ collaborators: SharedGroup[] }>(`${thing}/groups`, call),
      ]);
      return { people: users.collaborators, groups: groups.collaborators };
    },
  });

/** A person by e-mail, or a group by its id. */
export type Sharer = { email: string } | { groupId: string };

/** Shares a thing, or changes the role of whom it is shared with. */
export async function share(thing: string, who: Sharer, role: Role): Promise<void> {
  if ('email' in who) await send(`${thing}/users`, { body: [{ user_email: who.email, role }] });
  else await send(`${thing}/groups`, { body: [{ group_id: who.groupId, role }] });
  await queryClient.invalidateQueries({ queryKey: ['collaborators', thing] });
}

/** @param one the id of a user or a group */
export async function unshare(thing: string, kind: 'users' | 'groups', one: string): Promise<void> {
  await send(`${thing}/${kind}/${one}`, { method: 'DELETE' });
  await queryClient.invalidateQueries({ queryKey: ['collaborators', thing] });
}
