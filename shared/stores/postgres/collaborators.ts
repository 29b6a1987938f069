import { z } from 'zod';
import type { AssetKind } from '../../assets/assetAccess.ts';
import { ServiceError } from '../../errors/errors.ts';
import { newId } from '../../identifiers/ids.ts';
import type { CollaboratorStore, GroupCollaborator, UserCollaborator } from '../../projects/projectStore.ts';
import { projectRoles } from '../../wire/accounts.ts';
import type { Database, Queries } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { listedItems, timeKey } from './listScan.ts';
import { missingReference } from './missingReference.ts';
import { isVisibleGroup } from './userGroups.ts';

const UserCollaboratorRow = z
  .object({
    id: z.string(),
    role: z.enum(projectRoles),
    created_at: z.date(),
    user_id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
  })
  .transform((row): UserCollaborator => inCamelCase(row));

const GroupCollaboratorRow = z
  .object({ id: z.string(), role: z.enum(projectRoles), created_at: z.date(), group_id: z.string(), group_name: z.string() })
  .transform((row): GroupCollaborator => inCamelCase(row));

const userColumns = 'c.id, c.role, c.created_at, u.id AS user_id, u.email, u.first_name, u.last_name';
const groupColumns = 'c.id, c.role, c.created_at, g.id AS group_id, g.name AS group_name';

/** Keeps the users and groups with whom a project, or an asset of one kind, is shared: the tables `<kind>_users` and `<kind>_groups`. */
export function collaboratorStore(database: Database, kind: 'project' | AssetKind): CollaboratorStore {
  const users = `${kind}_users`;
  const groups = `${kind}_groups`;
  const column = kind === 'project' ? 'project_id' : 'asset_id';
  const ofUsers = `FROM ${users} c JOIN users u ON u.id = c.user_id WHERE c.${column} = $1`;
  const ofGroups = `FROM ${groups} c JOIN user_groups g ON g.id = c.group_id WHERE c.${column} = $1`;
  /** Those of the project or asset `$1`, the oldest first. */
  const listing = (table: string, who: 'user_id' | 'group_id') => ({
    ...{ table, alias: 'c', within: `c.${column} = $1`, conditions: [] as string[] },
    walk: { columns: [[who, 'uuid']] as const, descending: false },
    by: { sql: timeKey('c.created_at'), descending: false, nullsFirst: false },
  });
  const oneUser = async (queries: Queries, id: string, userId: string) => {
    const row = await queries.maybeOne(`SELECT ${userColumns} ${ofUsers} AND c.user_id = $2`, [id, userId]);
    return row && UserCollaboratorRow.parse(row);
  };
  const oneGroup = async (queries: Queries, id: string, groupId: string) => {
    const row = await queries.maybeOne(`SELECT ${groupColumns} ${ofGroups} AND c.group_id = $2`, [id, groupId]);
    return row && GroupCollaboratorRow.parse(row);
  };

  return {
    userCollaborators: (id, page) =>
      listedItems(
        database,
        { ...listing(users, 'user_id'), values: [id] },
        page,
        (ids) => database.query(`SELECT ${userColumns} ${ofUsers} AND c.id = ANY ($2::uuid[])`, [id, ids]),
        UserCollaboratorRow,
      ),
    setUserCollaborators: (id, given) =>
      database
        .transaction(async (tx) => {
          const added: UserCollaborator[] = [];
          for (const { userId, email, role } of given) {
            const user = await tx.maybeOne(
              'SELECT id FROM users WHERE removed_at IS NULL AND CASE WHEN $1::uuid IS NULL THEN lower(email) = lower($2) ELSE id = $1 END',
              [userId ?? null, email ?? null],
            );
            if (!user) throw new ServiceError('NotFound', `no user ${userId ?? email}`);
            await tx.query(
              `INSERT INTO ${users} (id, ${column}, user_id, role) VALUES ($1, $2, $3, $4)
             ON CONFLICT (${column}, user_id) DO UPDATE SET role = excluded.role`,
              [newId(), id, user.id, role],
            );
            added.push((await oneUser(tx, id, z.string().parse(user.id))) as UserCollaborator);
          }
          return added;
        })
        .catch(missingReference(kind)),
    async updateUserCollaborator(id, userId, role) {
      await database.query(`UPDATE ${users} SET role = $3 WHERE ${column} = $1 AND user_id = $2`, [id, userId, role]);
      return oneUser(database, id, userId);
    },
    async removeUserCollaborator(id, userId) {
      const sql = `DELETE FROM ${users} WHERE ${column} = $1 AND user_id = $2 RETURNING id`;
      return (await database.maybeOne(sql, [id, userId])) !== undefined;
    },

    groupCollaborators: (id, page, { userId, seesHidden }) =>
      listedItems(
        database,
        {
          ...listing(groups, 'group_id'),
          joins: 'JOIN user_groups g ON g.id = c.group_id',
          conditions: [isVisibleGroup('$2', '$3')],
          values: [id, userId, seesHidden],
        },
        page,
        (ids) => database.query(`SELECT ${groupColumns} ${ofGroups} AND c.id = ANY ($2::uuid[])`, [id, ids]),
        GroupCollaboratorRow,
      ),
    setGroupCollaborators: (id, given, { userId, seesHidden }) =>
      database
        .transaction(async (tx) => {
          const added: GroupCollaborator[] = [];
          for (const { groupId, role } of given) {
            const group = `SELECT g.id FROM user_groups g WHERE g.id = $1 AND ${isVisibleGroup('$2', '$3')}`;
            if (!(await tx.maybeOne(group, [groupId, userId, seesHidden])))
              throw new ServiceError('NotFound', `no group ${groupId}`);
            await tx.query(
              `INSERT INTO ${groups} (id, ${column}, group_id, role) VALUES ($1, $2, $3, $4)
             ON CONFLICT (${column}, group_id) DO UPDATE SET role = excluded.role`,
              [newId(), id, groupId, role],
            );
            added.push((await oneGroup(tx, id, groupId)) as GroupCollaborator);
          }
          return added;
        })
        .catch(missingReference(kind)),
    async updateGroupCollaborator(id, groupId, role) {
      const sql = `UPDATE ${groups} SET role = $3 WHERE ${column} = $1 AND group_id = $2`;
      await database.query(sql, [id, groupId, role]);
      return oneGroup(database, id, groupId);
    },
    async removeGroupCollaborator(id, groupId) {
      const sql = `DELETE FROM ${groups} WHERE ${column} = $1 AND group_id = $2 RETURNING id`;
      return (await database.maybeOne(sql, [id, groupId])) !== undefined;
    },
  };
}
