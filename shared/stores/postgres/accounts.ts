import { z } from 'zod';
import type { AccountStore, Login, NewApiKey, NewUser, Page, PageOf } from '../../accounts/accountStore.ts';
import { ServiceError } from '../../errors.ts';
import { groupVisibilities, projectRoles, userRoles } from '../../wire/accounts.ts';
import { type Database, isUniqueViolation, type Queries, type Row } from './connect.ts';
import { goneMeanwhile } from './missingReference.ts';

const UserRow = z
  .object({
    id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    role: z.enum(userRoles),
    organization_id: z.string(),
    organization_name: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row) => ({
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    role: row.role,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));

const LoginRow = z
  .object({
    user_id: z.string(),
    email: z.string(),
    role: z.enum(userRoles),
    password_hash: z.string().nullable(),
    token_version: z.number(),
  })
  .transform(
    (row): Login => ({
      userId: row.user_id,
      email: row.email,
      role: row.role,
      passwordHash: row.password_hash,
      tokenVersion: row.token_version,
    }),
  );

const ApiKeyRow = z
  .object({
    id: z.string(),
    user_id: z.string(),
    truncated: z.string(),
    description: z.string(),
    project_id: z.string().nullable(),
    project_role: z.enum(projectRoles).nullable(),
    expires_at: z.date().nullable(),
    last_used: z.date().nullable(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    truncated: row.truncated,
    description: row.description,
    projectId: row.project_id,
    projectRole: row.project_role,
    expiresAt: row.expires_at,
    lastUsed: row.last_used,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));

const GroupRow = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    visibility: z.enum(groupVisibilities),
    created_at: z.date(),
  })
  .transform(({ created_at, ...row }) => ({ ...row, createdAt: created_at }));

const loginColumns = 'u.id AS user_id, u.email, u.role, u.password_hash, u.token_version';
const apiKeyColumns =
  'k.id, k.user_id, k.truncated, k.description, k.project_id, k.project_role, k.expires_at, k.last_used, k.created_at, k.updated_at';
const userColumns =
  'u.id, u.email, u.first_name, u.last_name, u.role, u.created_at, u.updated_at, o.id AS organization_id, o.name AS organization_name';

/** The rows of a page and how many there are in all, from two queries over the same `params`. */
async function pageOf<T>(
  database: Queries,
  sql: { page: string; count: string; params: unknown[] },
  page: Page,
  row: z.ZodType<T>,
): Promise<PageOf<T>> {
  const next = sql.params.length + 1;
  const rows = await database.query(`${sql.page} LIMIT $${next} OFFSET $${next + 1}`, [...sql.params, page.limit, page.offset]);
  const counted = await database.maybeOne(sql.count, sql.params);
  return { items: z.array(row).parse(rows), total: z.number().parse(counted?.total) };
}

/** Users, API keys and user groups in Postgres. */
export function postgresAccounts(database: Database): AccountStore {
  const login = (row: Row | undefined) => (row ? LoginRow.parse(row) : undefined);
  const keyWithOwner = (row: Row | undefined) => row && { key: ApiKeyRow.parse(row), owner: LoginRow.parse(row) };
  const keyQuery = `SELECT ${apiKeyColumns}, u.email, u.role, u.password_hash, u.token_version
    FROM api_keys k JOIN users u ON u.id = k.user_id AND u.removed_at IS NULL`;
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
    async loginByEmail(email) {
      return login(
        await database.maybeOne(`SELECT ${loginColumns} FROM users u WHERE lower(u.email) = lower($1) AND u.removed_at IS NULL`, [
          email,
        ]),
      );
    },
    async loginById(userId) {
      return login(
        await database.maybeOne(`SELECT ${loginColumns} FROM users u WHERE u.id = $1 AND u.removed_at IS NULL`, [userId]),
      );
    },
    async apiKeyByHash(keyHash) {
      return keyWithOwner(await database.maybeOne(`${keyQuery} WHERE k.key_hash = $1`, [keyHash]));
    },
    async apiKeyById(keyId) {
      return keyWithOwner(await database.maybeOne(`${keyQuery} WHERE k.id = $1`, [keyId]));
    },
    async touchApiKey(keyId) {
      await database.query(
        `UPDATE api_keys SET last_used = now() WHERE id = $1 AND (last_used IS NULL OR last_used < now() - interval '1 minute')`,
        [keyId],
      );
    },
    spendRefreshToken: (tokenId, family, expiresAt) =>
      database.transaction(async (tx) => {
        await tx.query('DELETE FROM spent_refresh_tokens WHERE expires_at < now()');
        const ended = await tx.maybeOne('SELECT 1 AS yes FROM spent_refresh_tokens WHERE id = $1', [family]);
        if (ended) return false;
        const spent = `INSERT INTO spent_refresh_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`;
        if ((await tx.query(spent, [tokenId, expiresAt])).length > 0) return true;
        // The family's newest token may have been signed a moment ago and lives as long as one signed now would.
        await tx.query(
          `INSERT INTO spent_refresh_tokens (id, expires_at) VALUES ($1, now() + interval '31 days') ON CONFLICT DO NOTHING`,
          [family],
        );
        return false;
      }),

    user: (userId) => user(database, userId),
    users: (page) =>
      pageOf(
        database,
        {
          page: `SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.removed_at IS NULL ORDER BY u.created_at, u.id`,
          count: 'SELECT count(*) AS total FROM users WHERE removed_at IS NULL',
          params: [],
        },
        page,
        UserRow,
      ),
    async usersById(userIds) {
      const rows = await database.query(
        `SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.id = ANY($1::uuid[])`,
        [[...new Set(userIds)]],
      );
      return new Map(rows.map((row) => UserRow.parse(row)).map((one) => [one.id, one]));
    },
    async insertUser(given) {
      try {
        await insertUserRow(database, given);
      } catch (err) {
        if (isUniqueViolation(err, 'users_email'))
          throw new ServiceError('Conflict', 'a user with this email exists already', { cause: err });
        throw err;
      }
      return UserRow.parse(
        await database.maybeOne(`SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.id = $1`, [given.id]),
      );
    },
    setRole: (userId, role) =>
      unlessLastAdministrator(userId, role === 'admin', async (tx) => {
        await tx.query('UPDATE users SET role = $2, updated_at = now() WHERE id = $1', [userId, role]);
        return (await user(tx, userId)) ?? ('unknown' as const);
      }),
    removeUser: (userId) =>
      unlessLastAdministrator(userId, false, async (tx) => {
        await tx.query('DELETE FROM api_keys WHERE user_id = $1', [userId]);
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

    async insertApiKey(given) {
      return ApiKeyRow.parse(await insertApiKeyRow(database, given).catch(goneMeanwhile('project')));
    },
    apiKeys: (userId, page) =>
      pageOf(
        database,
        {
          page: `SELECT ${apiKeyColumns} FROM api_keys k WHERE k.user_id = $1 ORDER BY k.created_at, k.id`,
          count: 'SELECT count(*) AS total FROM api_keys WHERE user_id = $1',
          params: [userId],
        },
        page,
        ApiKeyRow,
      ),
    async deleteApiKey(keyId) {
      await database.query('DELETE FROM api_keys WHERE id = $1', [keyId]);
    },

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
    groups: (viewerId, seesHidden, page) => {
      const visible = `FROM user_groups g WHERE g.visibility <> 'hidden' OR $2::boolean
        OR EXISTS (SELECT 1 FROM user_group_members m WHERE m.group_id = g.id AND m.user_id = $1 AND m.role <> 'pending')`;
      return pageOf(
        database,
        {
          page: `SELECT g.id, g.name, g.description, g.visibility, g.created_at ${visible} ORDER BY g.created_at, g.id`,
          count: `SELECT count(*) AS total ${visible}`,
          params: [viewerId, seesHidden],
        },
        page,
        GroupRow,
      );
    },
    setGroupMembers: (groupId, members) =>
      database.transaction(async (tx) => {
        if (!(await tx.maybeOne('SELECT 1 AS yes FROM user_groups WHERE id = $1', [groupId])))
          throw new ServiceError('NotFound', 'no such group');
        for (const { userId, role } of members) {
          if (!(await user(tx, userId))) throw new ServiceError('NotFound', `no user ${userId}`);
          await tx.query(
            `INSERT INTO user_group_members (group_id, user_id, role) VALUES ($1, $2, $3)
             ON CONFLICT (group_id, user_id) DO UPDATE SET role = excluded.role`,
            [groupId, userId, role],
          );
        }
      }),
  };
}

async function firstAdministrator(queries: Queries): Promise<string | undefined> {
  const row = await queries.maybeOne(
    `SELECT email FROM users WHERE role = 'admin' AND removed_at IS NULL ORDER BY created_at, id LIMIT 1`,
  );
  return row && z.string().parse(row.email);
}

const insertUserRow = (queries: Queries, { id, email, role, passwordHash }: NewUser) =>
  queries.query('INSERT INTO users (id, email, role, password_hash) VALUES ($1, $2, $3, $4)', [id, email, role, passwordHash]);

const insertApiKeyRow = (queries: Queries, key: NewApiKey) =>
  queries.maybeOne(
    `INSERT INTO api_keys AS k (id, user_id, key_hash, truncated, description, project_id, project_role, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING ${apiKeyColumns}`,
    [
      key.id,
      key.userId,
      key.keyHash,
      key.truncated,
      key.description,
      key.projectId,
      key.projectRole,
      key.expiresAt?.toISOString() ?? null,
    ],
  );
