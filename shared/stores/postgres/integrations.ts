import { z } from 'zod';
import {
  type Integration,
  IntegrationContent,
  type IntegrationStore,
  OwnPrice,
  SealedSecrets,
  StoredLimits,
} from '../../integrations/integration.ts';
import { addOwner } from './assetAccess.ts';
import type { Database, Queries, Row } from './database.ts';

const Identity = z.object({
  id: z.string(),
  name: z.string(),
  secrets: SealedSecrets,
  limits: StoredLimits.nullable(),
  prices: OwnPrice.array(),
  selected_by: z.string().array(),
  disabled_by: z.string().array(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
});

function toIntegration(row: Row): Integration {
  const { id, name, secrets, limits, prices, selected_by, disabled_by, created_by, created_at, updated_at } = Identity.parse(row);
  return {
    ...IntegrationContent.parse({ provider: row.provider, config: row.config }),
    id,
    name,
    sealed: secrets,
    limits,
    prices,
    selectedBy: selected_by,
    disabledBy: disabled_by,
    createdBy: created_by,
    createdAt: created_at,
    updatedAt: updated_at,
  };
}

/** With the users that chose it, and those that do not use it. */
const INTEGRATIONS = `SELECT i.*,
    ARRAY(SELECT c.user_id::text FROM integration_choices c WHERE c.integration_id = i.id) AS selected_by,
    ARRAY(SELECT c.user_id::text FROM integration_choices c WHERE c.integration_id IS NULL AND c.name IN (i.provider, i.name)) AS disabled_by
  FROM integrations i`;

const find = async (queries: Queries, provider: string, name: string): Promise<Integration | undefined> => {
  const row = await queries.maybeOne(`${INTEGRATIONS} WHERE i.provider = $1 AND i.name = $2`, [provider, name]);
  return row && toIntegration(row);
};

export function postgresIntegrations(database: Database): IntegrationStore {
  return {
    list: async () => (await database.query(`${INTEGRATIONS} ORDER BY i.created_at, i.id`)).map(toIntegration),
    find: (provider, name) => find(database, provider, name),
    save: ({ provider, name, userId }, build) =>
      database.transaction(async (tx) => {
        // A lock on the name, because a row that does not exist yet cannot be locked.
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`integration/${provider}/${name}`]);
        const existing = await find(tx, provider, name);
        const draft = build(existing);
        await tx.query(
          `INSERT INTO integrations (id, provider, name, config, secrets, created_by)
           VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (provider, name)
           DO UPDATE SET config = excluded.config, secrets = excluded.secrets, updated_at = now()`,
          [draft.id, provider, name, JSON.stringify(draft.config), JSON.stringify(draft.sealed), userId],
        );
        if (!existing) await addOwner(tx, 'integration', draft.id, userId);
        return (await find(tx, provider, name)) as Integration;
      }),
    remove: async (provider, name) =>
      (await database.maybeOne('DELETE FROM integrations WHERE provider = $1 AND name = $2 RETURNING id', [provider, name])) !==
      undefined,
    select: (userId, id) =>
      database.transaction(async (tx) => {
        const row = await tx.maybeOne('SELECT provider, name FROM integrations WHERE id = $1 FOR SHARE', [id]);
        if (!row) return false;
        await tx.query('DELETE FROM integration_choices WHERE user_id = $1 AND integration_id IS NULL AND name = $2', [
          userId,
          row.name,
        ]);
        await tx.query(
          `INSERT INTO integration_choices (user_id, name, integration_id) VALUES ($1, $2, $3)
           ON CONFLICT (user_id, name) DO UPDATE SET integration_id = excluded.integration_id`,
          [userId, row.provider, id],
        );
        return true;
      }),
    disable: (userId, name) =>
      database.transaction(async (tx) => {
        await tx.query(
          `DELETE FROM integration_choices c USING integrations i
           WHERE c.user_id = $1 AND c.integration_id = i.id AND i.name = $2`,
          [userId, name],
        );
        await tx.query(
          `INSERT INTO integration_choices (user_id, name) VALUES ($1, $2)
           ON CONFLICT (user_id, name) DO UPDATE SET integration_id = NULL`,
          [userId, name],
        );
      }),
    setLimits: async (id, limits) =>
      (await database.maybeOne('UPDATE integrations SET limits = $2 WHERE id = $1 RETURNING id', [
        id,
        limits && JSON.stringify(limits),
      ])) !== undefined,
    setPrices: async (id, prices) =>
      (await database.maybeOne('UPDATE integrations SET prices = $2 WHERE id = $1 RETURNING id', [
        id,
        JSON.stringify(prices),
      ])) !== undefined,
    replaceSecrets: async (id, from, to) =>
      (await database.maybeOne('UPDATE integrations SET secrets = $3 WHERE id = $1 AND secrets = $2::jsonb RETURNING id', [
        id,
        JSON.stringify(from),
        JSON.stringify(to),
      ])) !== undefined,
  };
}
