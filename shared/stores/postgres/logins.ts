import { z } from 'zod';
import type { AccountStore, Login, LoginSession } from '../../accounts/accountStore.ts';
import { userRoles } from '../../wire/accounts.ts';
import { aboutColumns, aboutJoin, aboutValues, readAbout } from './about.ts';
import type { Database, Queries, Row } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { pageOf } from './pageOf.ts';

type Logins = Pick<
  AccountStore,
  | 'loginByEmail'
  | 'loginById'
  | 'loginOfSession'
  | 'noteSession'
  | 'sessions'
  | 'endSession'
  | 'endSessions'
  | 'setPassword'
  | 'insertPasswordReset'
  | 'isPasswordReset'
  | 'spendPasswordReset'
  | 'spendRefreshToken'
>;

export const LoginRow = z
  .object({
    user_id: z.string(),
    email: z.string(),
    role: z.enum(userRoles),
    password_hash: z.string().nullable(),
    token_version: z.number(),
  })
  .transform((row): Login => inCamelCase(row));

const SessionRow = z
  .object({
    id: z.string(),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    created_at: z.date(),
    last_used: z.date(),
    expires_at: z.date(),
  })
  .transform((row): LoginSession => inCamelCase(row));

export const loginColumns = 'u.id AS user_id, u.email, u.role, u.password_hash, u.token_version';

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

/** Logins by password: their sessions, passwords and refresh tokens. */
export function postgresLogins(database: Database): Logins {
  const login = (row: Row | undefined) => (row ? LoginRow.parse(row) : undefined);

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
    async loginOfSession(userId, tokenVersion, sessionId, about) {
      const row = await database.maybeOne(
        `WITH used AS (
           UPDATE login_sessions SET last_used = now() WHERE id = $3::uuid AND user_id = $1 AND last_used < now() - interval '1 minute'
         )
         SELECT ${loginColumns}, ${aboutColumns}
         FROM users u LEFT JOIN login_sessions s ON s.id = $3::uuid AND s.user_id = u.id ${aboutJoin('u.id', 4)}
         WHERE u.id = $1 AND u.removed_at IS NULL AND (u.token_version = $2 OR u.token_version = s.token_version)
           AND NOT EXISTS (SELECT 1 FROM spent_refresh_tokens e WHERE e.id = $3::uuid)`,
        [userId, tokenVersion, sessionId ?? null, ...aboutValues(about)],
      );
      return row && { login: LoginRow.parse(row), about: readAbout(row) };
    },
    async noteSession({ id, userId, address, userAgent, expiresAt }) {
      // A session that was ended while its token was refreshed does not come back.
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
    sessions: (userId, page) =>
      pageOf(
        database,
        {
          sql: `SELECT id, address, user_agent, created_at, last_used, expires_at FROM login_sessions
            WHERE user_id = $1 AND expires_at > now() ORDER BY last_used DESC, id`,
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
  };
}
