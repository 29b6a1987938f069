import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { DatabricksTables } from '../../shared/integrations/databricksTables.ts';
import { findByProvider, toRecord } from '../../shared/integrations/describe.ts';
import type { Integration } from '../../shared/integrations/integration.ts';
import { type SaveDeps, saveProviderIntegration } from '../../shared/integrations/saveIntegration.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { IntegrationDB } from '../../shared/wire/integrations.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export type DatabricksTableRouteDeps = SaveDeps & { assets: AssetAccess; tables: DatabricksTables };

const tag = 'Integrations';
const NAME = 'databricks';
const Names = z.array(z.string());

/** Databricks as a store of tables: it has one integration, for its models and its tables. */
export function databricksTableRoutes(deps: DatabricksTableRouteDeps): Endpoint[] {
  const { store, assets, tables } = deps;
  const idOf = async () => (await store.find(NAME, NAME))?.id;
  const reading = { asset: 'integration', action: 'read', idOf, orElse: 'read_integrations' } as const;
  const described = async (caller: Caller, integration: Integration) =>
    toRecord(integration, (await assets.roles(caller, 'integration', [integration.id])).get(integration.id), caller.userId);
  return [
    endpoint({
      method: 'put',
      path: '/integrations/databricks/unity-catalog/sql',
      summary: 'Create or update the Databricks integration for its tables',
      description: 'Its models are listed as well where `llm` is true, or where the integration had them before.',
      tag,
      access: { asset: 'integration', action: 'update', idOf, orElse: 'manage_integrations' },
      body: findTokenProvider(NAME).request,
      response: IntegrationDB,
      async handle({ body, caller }) {
        const before = await store.find(NAME, NAME);
        const hadModels = before?.provider === NAME && before.config.llm === true;
        const config = {
          ...findTokenProvider(NAME).toStored(body),
          ...{ storage: true, llm: body.llm === true || hadModels },
        };
        const saved = await saveProviderIntegration(deps, caller.userId, { provider: NAME, config }, { token: body.token });
        return described(caller, saved);
      },
    }),
    endpoint({
      method: 'get',
      path: '/integrations/databricks/catalogs',
      errors: ['IntegrationNotFound', 'ProviderFailed'],
      summary: 'Catalogs of the Databricks workspace',
      tag,
      access: reading,
      response: Names,
      handle: async ({ signal }) => tables.catalogs(await findByProvider(store, NAME), signal),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/databricks/databases',
      errors: ['IntegrationNotFound', 'ProviderFailed'],
      summary: 'Databases of a catalog of the Databricks workspace',
      description: 'Without `catalog`, those of the `default_catalog_name` of the integration.',
      tag,
      access: reading,
      query: z.object({ catalog: z.string().min(1).max(255).optional() }),
      response: Names,
      handle: async ({ query, signal }) => tables.databases(await findByProvider(store, NAME), query.catalog, signal),
    }),
  ];
}
