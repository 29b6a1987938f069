import { z } from 'zod';
import type { AccountStore, NewApiKey } from '../../accounts/accountStore.ts';
import { projectRoles } from '../../wire/accounts.ts';
import type { Database, Queries, Row } from './connect.ts';
import { LoginRow } from './logins.ts';
import { missingReference } from './missingReference.ts';
import { pageOf } from './pageOf.ts';

type ApiKeys = Pick<AccountStore, 'apiKeyByHash' | 'apiKeyById' | 'touchApiKey' | 'insertApiKey' | 'apiKeys' | 'deleteApiKey'>;

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

const apiKeyColumns =
  'k.id, k.user_id, k.truncated, k.description, k.project_id, k.project_role, k.expires_at, k.last_used, k.created_at, k.updated_at';

export const insertApiKeyRow = (queries: Queries, key: NewApiKey) =>
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

/** API keys, each with the login of its owner. */
export function postgresApiKeys(database: Database): ApiKeys {
  const keyWithOwner = (row: Row | undefined) => row && { key: ApiKeyRow.parse(row), owner: LoginRow.parse(row) };
  const keyQuery = `SELECT ${apiKeyColumns}, u.email, u.role, u.password_hash, u.token_version
    FROM api_keys k JOIN users u ON u.id = k.user_id AND u.removed_at IS NULL`;

  return {
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
    async insertApiKey(given) {
      return ApiKeyRow.parse(await insertApiKeyRow(database, given).catch(missingReference('project')));
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
  };
}
