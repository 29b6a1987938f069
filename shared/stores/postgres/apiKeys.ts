import { z } from 'zod';
import type { AccountStore, NewApiKey } from '../../accounts/accountStore.ts';
import { keyRoles } from '../../accounts/permissions.ts';
import { aboutColumns, aboutJoin, aboutValues, readAbout } from './about.ts';
import type { Database, Queries, Row } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { byCreation, listedItems } from './listScan.ts';
import { LoginRow } from './logins.ts';
import { missingReference } from './missingReference.ts';

type ApiKeys = Pick<AccountStore, 'apiKeyByHash' | 'apiKeyById' | 'apiKeyOfToken' | 'insertApiKey' | 'apiKeys' | 'deleteApiKey'>;

const ApiKeyRow = z
  .object({
    id: z.string(),
    user_id: z.string(),
    truncated: z.string(),
    description: z.string(),
    project_id: z.string().nullable(),
    project_role: z.enum(keyRoles).nullable(),
    expires_at: z.date().nullable(),
    last_used: z.date().nullable(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform(inCamelCase);

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
  const columns = `${apiKeyColumns}, u.email, u.role, u.password_hash, u.token_version`;
  const tables = 'api_keys k JOIN users u ON u.id = k.user_id AND u.removed_at IS NULL';
  const used = (is: string) =>
    `WITH used AS (UPDATE api_keys SET last_used = now() WHERE ${is} AND (last_used IS NULL OR last_used < now() - interval '1 minute'))`;
  const keyAbout = (row: Row | undefined) => {
    const known = keyWithOwner(row);
    return row && known && { ...known, about: readAbout(row) };
  };

  return {
    async apiKeyByHash(keyHash, about) {
      const sql = `${used('key_hash = $1')} SELECT ${columns}, ${aboutColumns} FROM ${tables} ${aboutJoin('u.id', 2)} WHERE k.key_hash = $1`;
      return keyAbout(await database.maybeOne(sql, [keyHash, ...aboutValues(about)]));
    },
    async apiKeyById(keyId) {
      return keyWithOwner(await database.maybeOne(`SELECT ${columns} FROM ${tables} WHERE k.id = $1`, [keyId]));
    },
    async apiKeyOfToken(keyId, sessionId, about) {
      const sql = `${used('id = $1')} SELECT ${columns}, ${aboutColumns} FROM ${tables} ${aboutJoin('u.id', 3)}
        WHERE k.id = $1 AND NOT EXISTS (SELECT FROM spent_refresh_tokens WHERE id = $2::uuid)`;
      return keyAbout(await database.maybeOne(sql, [keyId, sessionId ?? null, ...aboutValues(about)]));
    },
    async insertApiKey(given) {
      return ApiKeyRow.parse(await insertApiKeyRow(database, given).catch(missingReference('project')));
    },
    apiKeys: (userId, page) =>
      listedItems(
        database,
        {
          ...{ table: 'api_keys', alias: 'k', within: 'k.user_id = $1', conditions: [], values: [userId] },
          walk: { columns: byCreation, descending: false },
        },
        page,
        (ids) => database.query(`SELECT ${apiKeyColumns} FROM api_keys k WHERE k.id = ANY ($1::uuid[])`, [ids]),
        ApiKeyRow,
      ),
    async deleteApiKey(keyId) {
      await database.query('DELETE FROM api_keys WHERE id = $1', [keyId]);
    },
  };
}
