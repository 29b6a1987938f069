import { z } from 'zod';
import type { AccountStore } from '../../accounts/accountStore.ts';
import { insertApiKeyRow, postgresApiKeys } from './apiKeys.ts';
import type { Database, Queries } from './database.ts';
import { postgresInvitations } from './invitations.ts';
import { byCreation, listedItems } from './listScan.ts';
import { postgresLogins } from './logins.ts';
import { postgresUserGroups } from './userGroups.ts';
import { insertUser, insertUserRow, UserRow, userColumns } from './userRows.ts';

const usersById = (queries: Queries, ids: readonly string[]) =>
  queries.query(`SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.id = ANY($1::uuid[])`, [ids]);

/** Users in Postgres, with their logins, API keys, groups and invitations. */
export function postgresAccounts(database: Database): AccountStore {
  const user = async (queries: Queries, userId: string) => {
    const row = await queries.maybeOne(
      `SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.id = $1 AND u.removed_at IS NULL`,
      [userId],
    );
    return row && UserRow.parse(row);
  };

  /** Runs a change of a user's role or removal, unless it would leave the organization without an administrator. */
  const unlessLastAdministrator = <T>(userId: string, keepsRole: boolean, change: (tx: Queries) => Promise<T>) =>
    database.transaction(async (tx) => {
      // Two administrators who demote each other at the same time must not both succeed.
      await tx.query('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
      const current = await user(tx, userId);
      if (!current) return 'unknown' as const;
      if (current.role === 'admin' && !keepsRole) {
        const others = await tx.query(`SELECT 1 FROM users WHERE role = 'admin' AND removed_at IS NULL AND id <> $1 LIMIT 1`, [
          userId,
        ]);
        if (others.length === 0) return 'last_administrator' as const;
      }
      return change(tx);
    });

  return {
    ...postgresLogins(database),
    ...postgresApiKeys(database),
    ...postgresUserGroups(database),
    ...postgresInvitations(database),

    user: (userId) => user(database, userId),
    users: (page) =>
      listedItems(
        database,
        {
          ...{ table: 'users', alias: 'u', within: 'u.removed_at IS NULL', conditions: [], values: [] },
          walk: { columns: byCreation, descending: false },
        },
        page,
        (ids) => usersById(database, ids),
        UserRow,
      ),
    async usersById(userIds) {
      const rows = await usersById(database, [...new Set(userIds)]);
      return new Map(rows.map((row) => UserRow.parse(row)).map((one) => [one.id, one]));
    },
    insertUser: (given) => insertUser(database, given),
    setRole: (userId, role) =>
      unlessLastAdministrator(userId, role === 'admin', async (tx) => {
        await tx.query('UPDATE users SET role = $2, updated_at = now() WHERE id = $1', [userId, role]);
        return (await user(tx, userId)) ?? ('unknown' as const);
      }),
    removeUser: (userId) =>
      unlessLastAdministrator(userId, false, async (tx) => {
        await tx.query('DELETE FROM api_keys WHERE user_id = $1', [userId]);
        await tx.query('DELETE FROM login_sessions WHERE user_id = $1', [userId]);
        await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId]);
        await tx.query('DELETE FROM project_users WHERE user_id = $1', [userId]);
        await tx.query('DELETE FROM annotation_queue_users WHERE user_id = $1', [userId]);
        await tx.query('DELETE FROM user_group_members WHERE user_id = $1', [userId]);
        await tx.query(
          `UPDATE users SET removed_at = now(), updated_at = now(), password_hash = NULL, token_version = token_version + 1 WHERE id = $1`,
          [userId],
        );
        return 'removed' as const;
      }),
    firstAdministrator: () => firstAdministrator(database),
    insertFirstAdministrator: (given, key) =>
      database.transaction(async (tx) => {
        // Processes that start together must agree on one.
        await tx.query('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
        const existing = await firstAdministrator(tx);
        if (existing !== undefined) return { created: false, email: existing };
        await insertUserRow(tx, given);
        await insertApiKeyRow(tx, key);
        return { created: true, email: given.email };
      }),
  };
}

async function firstAdministrator(queries: Queries): Promise<string | undefined> {
  const row = await queries.maybeOne(
    `SELECT email FROM users WHERE role = 'admin' AND removed_at IS NULL ORDER BY created_at, id LIMIT 1`,
  );
  return row && z.string().parse(row.email);
}
