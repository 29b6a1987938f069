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
import type { Database, Queries, Row } from './connect.ts';

const Identity = z.object({
  id: z.string(),
  name: z.string(),
  secrets: SealedSecrets,
  limits: StoredLimits.nullable(),
  prices: OwnPrice.array(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
});

function toIntegration(row: Row): Integration {
  const { id, name, secrets, limits, prices, created_by, created_at, updated_at } = Identity.parse(row);
  return {
    ...IntegrationContent.parse({ provider: row.provider, config: row.config }),
    id,
    name,
    sealed: secrets,
    limits,
    prices,
    createdBy: created_by,
    createdAt: created_at,
    updatedAt: updated_at,
  };
}

const find = async (queries: Queries, provider: string, name: string): Promise<Integration | undefined> => {
  const row = await queries.maybeOne('SELECT * FROM integrations WHERE provider = $1 AND name = $2', [provider, name]);
  return row && toIntegration(row);
};

export function postgresIntegrations(database: Database): IntegrationStore {
  return {
    list: async () => (await database.query('SELECT * FROM integrations ORDER BY created_at, id')).map(toIntegration),
    find: (provider, name) => find(database, provider, name),
    save: ({ provider, name, userId }, build) =>
      database.transaction(async (tx) => {
        // A lock on the name, because a row that does not exist yet cannot be locked.
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`integration/${provider}/${name}`]);
        const existing = await find(tx, provider, name);
        const draft = build(existing);
        const row = await tx.maybeOne(
          `INSERT INTO integrations (id, provider, name, config, secrets, created_by)
           VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (provider, name)
           DO UPDATE SET config = excluded.config, secrets = excluded.secrets, updated_at = now()
           RETURNING *`,
          [draft.id, provider, name, JSON.stringify(draft.config), JSON.stringify(draft.sealed), userId],
        );
        if (!existing) await addOwner(tx, 'integration', draft.id, userId);
        return toIntegration(row as Row);
      }),
    remove: async (provider, name) =>
      (await database.maybeOne('DELETE FROM integrations WHERE provider = $1 AND name = $2 RETURNING id', [provider, name])) !==
      undefined,
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
