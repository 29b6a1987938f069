import { z } from 'zod';
import type { AccountStore, Login, LoginSession, NewApiKey, NewUser, Page, PageOf } from '../../accounts/accountStore.ts';
import { ServiceError } from '../../errors/errors.ts';
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

const SessionRow = z
  .object({
    id: z.string(),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    created_at: z.date(),
    last_used: z.date(),
    expires_at: z.date(),
  })
  .transform(
    (row): LoginSession => ({
      id: row.id,
      address: row.address,
      userAgent: row.user_agent,
      createdAt: row.created_at,
      lastUsed: row.last_used,
      expiresAt: row.expires_at,
    }),
  );

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
export async function pageOf<T>(
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

/** SQL: group `g` is one that the user sees; hidden ones are seen by their members, and by whom `seesHidden` says. Takes placeholders. */
export const isVisibleGroup = (viewerId: string, seesHidden: string): string =>
  `(g.visibility <> 'hidden' OR ${seesHidden}::boolean
    OR EXISTS (SELECT 1 FROM user_group_members m WHERE m.group_id = g.id AND m.user_id = ${viewerId}::uuid AND m.role <> 'pending'))`;

/** Sessions of a user that are kept: a client that logs in before each of its operations opens thousands. */
const SESSIONS_KEPT = 100;

/** Ends a user's sessions by the version of their tokens; the one that stays is good for the new version. False when there is no such user. */
async function endSessions(tx: Queries, userId: string, keep: string | undefined): Promise<boolean> {
  const raised = await tx.maybeOne(
    'UPDATE users SET token_version = token_version + 1, updated_at = now() WHERE id = $1 AND removed_at IS NULL RETURNING token_version',
    [userId],
  );
  if (!raised) return false;
  await tx.query('DELETE FROM login_sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2::uuid', [userId, keep ?? null]);
  if (keep !== undefined)
    await tx.query(
      `INSERT INTO login_sessions (id, user_id, token_version, expires_at) VALUES ($1, $2, $3, now() + interval '30 days')
       ON CONFLICT (id) DO UPDATE SET token_version = excluded.token_version`,
      [keep, userId, raised.token_version],
    );
  return true;
}

async function setPassword(tx: Queries, userId: string, passwordHash: string, keep: string | undefined): Promise<void> {
  await endSessions(tx, userId, keep);
  await tx.query('UPDATE users SET password_hash = $2 WHERE id = $1 AND removed_at IS NULL', [userId, passwordHash]);
  await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId]);
}

/** Notes a session as ended; its tokens may have been signed a moment ago, and live as long as those signed now would. */
const markEnded = (queries: Queries, sessionId: string) =>
  queries.query(
    `INSERT INTO spent_refresh_tokens (id, expires_at) VALUES ($1, now() + interval '31 days') ON CONFLICT DO NOTHING`,
    [sessionId],
  );

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
    async loginOfSession(userId, tokenVersion, sessionId) {
      const row = await database.maybeOne(
        `SELECT ${loginColumns}, s.last_used
         FROM users u LEFT JOIN login_sessions s ON s.id = $3::uuid AND s.user_id = u.id
         WHERE u.id = $1 AND u.removed_at IS NULL AND (u.token_version = $2 OR u.token_version = s.token_version)
           AND NOT EXISTS (SELECT 1 FROM spent_refresh_tokens e WHERE e.id = $3::uuid)`,
        [userId, tokenVersion, sessionId ?? null],
      );
      return row && { login: LoginRow.parse(row), lastUsed: z.date().nullable().parse(row.last_used) };
    },
    async hasEnded(sessionId) {
      return (await database.maybeOne('SELECT 1 AS yes FROM spent_refresh_tokens WHERE id = $1', [sessionId])) !== undefined;
    },
    async noteSession({ id, userId, address, userAgent, expiresAt }) {
      // What was ended while it was refreshed does not come back.
      await database.query(
        `INSERT INTO login_sessions AS s (id, user_id, address, user_agent, expires_at)
         SELECT $1::uuid, $2::uuid, $3::text, $4::text, $5::timestamptz
         WHERE NOT EXISTS (SELECT 1 FROM spent_refresh_tokens WHERE id = $1::uuid)
         ON CONFLICT (id) DO UPDATE
           SET address = excluded.address, user_agent = excluded.user_agent, expires_at = excluded.expires_at, last_used = now()`,
        [id, userId, address, userAgent, expiresAt],
      );
      // One that stays by its own version is not forgotten. Logins at the same moment must not wait for each other's rows.
      await database.query(
        `DELETE FROM login_sessions WHERE id IN (
           SELECT id FROM login_sessions WHERE user_id = $1 AND token_version IS NULL
           ORDER BY last_used DESC, id OFFSET $2 FOR UPDATE SKIP LOCKED)`,
        [userId, SESSIONS_KEPT],
      );
    },
    async touchSession(sessionId) {
      await database.query(
        `UPDATE login_sessions SET last_used = now() WHERE id = $1 AND last_used < now() - interval '1 minute'`,
        [sessionId],
      );
    },
    sessions: (userId, page) =>
      pageOf(
        database,
        {
          page: `SELECT id, address, user_agent, created_at, last_used, expires_at FROM login_sessions
            WHERE user_id = $1 AND expires_at > now() ORDER BY last_used DESC, id`,
          count: 'SELECT count(*) AS total FROM login_sessions WHERE user_id = $1 AND expires_at > now()',
          params: [userId],
        },
        page,
        SessionRow,
      ),
    endSession: (sessionId, userId) =>
      database.transaction(async (tx) => {
        const known = await tx.maybeOne(
          'DELETE FROM login_sessions WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) RETURNING id',
          [sessionId, userId ?? null],
        );
        if (userId !== undefined && !known) return false;
        await markEnded(tx, sessionId);
        return true;
      }),
    endSessions: (userId) => database.transaction((tx) => endSessions(tx, userId, undefined)),
    setPassword: (userId, passwordHash, keep) => database.transaction((tx) => setPassword(tx, userId, passwordHash, keep)),
    async insertPasswordReset({ userId, tokenHash, createdBy, expiresAt }) {
      await database.query(
        `INSERT INTO password_resets (user_id, token_hash, created_by, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO UPDATE
           SET token_hash = excluded.token_hash, created_by = excluded.created_by, expires_at = excluded.expires_at`,
        [userId, tokenHash, createdBy, expiresAt],
      );
    },
    async isPasswordReset(tokenHash, now) {
      const sql = 'SELECT 1 AS yes FROM password_resets WHERE token_hash = $1 AND expires_at > $2';
      return (await database.maybeOne(sql, [tokenHash, now])) !== undefined;
    },
    spendPasswordReset: (tokenHash, now, passwordHash) =>
      database.transaction(async (tx) => {
        const sql = 'DELETE FROM password_resets WHERE token_hash = $1 AND expires_at > $2 RETURNING user_id';
        const spent = await tx.maybeOne(sql, [tokenHash, now]);
        if (spent) await setPassword(tx, z.string().parse(spent.user_id), passwordHash, undefined);
        return spent !== undefined;
      }),
    spendRefreshToken: (tokenId, family, expiresAt) =>
      database.transaction(async (tx) => {
        await tx.query('DELETE FROM spent_refresh_tokens WHERE expires_at < now()');
        const ended = await tx.maybeOne('SELECT 1 AS yes FROM spent_refresh_tokens WHERE id = $1', [family]);
        if (ended) return false;
        const spent = `INSERT INTO spent_refresh_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`;
        if ((await tx.query(spent, [tokenId, expiresAt])).length > 0) return true;
        await markEnded(tx, family);
        await tx.query('DELETE FROM login_sessions WHERE id = $1', [family]);
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
      const visible = `FROM user_groups g WHERE ${isVisibleGroup('$1', '$2')}`;
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
