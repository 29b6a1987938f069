import { z } from 'zod';
import type { AccountStore } from '../../accounts/accountStore.ts';
import { ServiceError } from '../../errors/errors.ts';
import { groupRoles, groupVisibilities } from '../../wire/accounts.ts';
import { looksUp } from './conditions.ts';
import type { Database } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { byCreation, listedItems } from './listScan.ts';

type UserGroups = Pick<AccountStore, 'insertGroup' | 'groups' | 'setGroupMembers' | 'groupMembers' | 'removeGroupMember'>;

const GroupRow = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    visibility: z.enum(groupVisibilities),
    created_at: z.date(),
  })
  .transform(({ created_at, ...row }) => ({ ...row, createdAt: created_at }));

const MemberRow = z
  .object({ user_id: z.string(), email: z.string(), role: z.enum(groupRoles) })
  .transform(({ user_id, ...row }) => ({ ...row, userId: user_id }));

/** SQL: group `g` is one that the user sees; hidden ones are seen by their members, and by whom `seesHidden` says. Takes placeholders. */
export const isVisibleGroup = (viewerId: string, seesHidden: string): string =>
  `(g.visibility <> 'hidden' OR ${seesHidden}::boolean
    OR ${looksUp(`FROM user_group_members m WHERE m.group_id = g.id AND m.user_id = ${viewerId}::uuid AND m.role <> 'pending'`)})`;

/** Groups of users, and who is in them. */
export function postgresUserGroups(database: Database): UserGroups {
  return {
    async insertGroup(group) {
      try {
        return GroupRow.parse(
          await database.maybeOne(
            `INSERT INTO user_groups (id, name, description, visibility, created_by) VALUES ($1, $2, $3, $4, $5)
             RETURNING id, name, description, visibility, created_at`,
            [group.id, group.name, group.description, group.visibility, group.createdBy],
          ),
        );
      } catch (err) {
        if (isUniqueViolation(err, 'user_groups_name'))
          throw new ServiceError('Conflict', 'a group with this name exists already', { cause: err });
        throw err;
      }
    },
    groups: (viewerId, seesHidden, page) =>
      listedItems(
        database,
        {
          ...{ table: 'user_groups', alias: 'g', within: 'true', conditions: [isVisibleGroup('$1', '$2')] },
          walk: { columns: byCreation, descending: false },
          values: [viewerId, seesHidden],
        },
        page,
        (ids) =>
          database.query(`SELECT id, name, description, visibility, created_at FROM user_groups WHERE id = ANY ($1::uuid[])`, [
            ids,
          ]),
        GroupRow,
      ),
    setGroupMembers: (groupId, members) =>
      database.transaction(async (tx) => {
        if (!(await tx.maybeOne('SELECT 1 AS yes FROM user_groups WHERE id = $1', [groupId])))
          throw new ServiceError('NotFound', 'no such group');
        for (const { userId, role } of members) {
          if (!(await tx.maybeOne('SELECT 1 AS yes FROM users WHERE id = $1 AND removed_at IS NULL', [userId])))
            throw new ServiceError('NotFound', `no user ${userId}`);
          await tx.query(
            `INSERT INTO user_group_members (group_id, user_id, role) VALUES ($1, $2, $3)
             ON CONFLICT (group_id, user_id) DO UPDATE SET role = excluded.role`,
            [groupId, userId, role],
          );
        }
      }),
    async groupMembers(groupId, { offset, limit }) {
      if (!(await database.maybeOne('SELECT 1 AS yes FROM user_groups WHERE id = $1', [groupId])))
        throw new ServiceError('NotFound', 'no such group');
      const rows = await database.query(
        `SELECT m.user_id, u.email, m.role FROM user_group_members m JOIN users u ON u.id = m.user_id
         WHERE m.group_id = $1 ORDER BY u.email, u.id OFFSET $2 LIMIT $3`,
        [groupId, offset, limit + 1],
      );
      return { items: rows.slice(0, limit).map((row) => MemberRow.parse(row)), hasMore: rows.length > limit };
    },
    removeGroupMember: async (groupId, userId) =>
      (
        await database.query('DELETE FROM user_group_members WHERE group_id = $1 AND user_id = $2 RETURNING user_id', [
          groupId,
          userId,
        ])
      ).length > 0,
  };
}
