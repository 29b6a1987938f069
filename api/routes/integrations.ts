import type { AssetAction, Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { limitsBody, limitsFrom } from '../../shared/coordination/callLimits.ts';
import {
  findById,
  findByProvider,
  findCustom,
  ofProvider,
  onlyOfProvider,
  ProviderSettings,
  removeIntegration,
  toDefinition,
  toRecord,
  toSettings,
} from '../../shared/integrations/describe.ts';
import { type Integration, type IntegrationStore, providerNames } from '../../shared/integrations/integration.ts';
import { type SaveDeps, saveCustomIntegration, saveProviderIntegration } from '../../shared/integrations/saveIntegration.ts';
import { openSecrets } from '../../shared/integrations/sealing.ts';
import type { ModelCaller } from '../../shared/modelCalls/modelCall.ts';
import { testCall } from '../../shared/modelCalls/testCall.ts';
import type { Prices } from '../../shared/prices/openPrices.ts';
import { pricesBody, pricesFrom } from '../../shared/prices/ownPrices.ts';
import { tokenProviders } from '../../shared/providers/index.ts';
import { CallLimitsBody } from '../../shared/wire/callLimits.ts';
import { AnyJson, NoQuery } from '../../shared/wire/common.ts';
import { IntegrationPrices } from '../../shared/wire/integrationPrices.ts';
import {
  AvailableIntegrations,
  CustomIntegrationCreate,
  CustomIntegrationDefinition,
  CustomIntegrationPath,
  IntegrationDB,
  IntegrationIdPath,
  IntegrationStatus,
  ProviderPath,
} from '../../shared/wire/integrations.ts';
import { IntegrationTestRequest, IntegrationTestResult } from '../../shared/wire/integrationTest.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export type IntegrationRouteDeps = SaveDeps & {
  store: IntegrationStore;
  assets: AssetAccess;
  prices: Pick<Prices, 'refresh'>;
  models: Pick<ModelCaller, 'complete'>;
};

const tag = 'Integrations';
const read = { organization: 'read_integrations' } as const;
const needs = (action: AssetAction) => ({ asset: 'integration', action }) as const;

const definitionDescription =
  'The only answer that holds secrets, for callers whose `read_secrets` permission is true: its owners, administrators and managers.';

/** Model providers. Literal paths stand before those with a name in the same place. */
export function integrationRoutes(deps: IntegrationRouteDeps): Endpoint[] {
  const { store, assets } = deps;
  /** Returns the permission needed on the integration of this provider and name, or, when there is none, to make one. */
  const onNamed = (action: AssetAction, provider: string | undefined, name: string | undefined) =>
    ({
      ...needs(action),
      idOf: async (params: Record<string, string>) =>
        (await store.find(provider ?? (params.name as string), name ?? (params.name as string)))?.id,
      orElse: action === 'read' ? 'read_integrations' : 'manage_integrations',
    }) as const;
  const onProvider = {
    ...needs('read'),
    idOf: async (params: Record<string, string>) => (await ofProvider(store, params.name as string))?.id,
    orElse: 'read_integrations',
  } as const;
  const described = async (caller: Caller, integration: Integration) =>
    toRecord(integration, (await assets.roles(caller, 'integration', [integration.id])).get(integration.id), caller.userId);
  const definitionOf = async (name: string) => {
    const integration = await findCustom(store, name);
    return toDefinition(integration.config, openSecrets(deps.keyRing, integration));
  };
  return [
    endpoint({
      method: 'get',
      path: '/integrations',
      summary: 'List integrations',
      tag,
      access: read,
      response: IntegrationDB.array(),
      handle: async ({ caller }) => {
        const all = await store.list();
        const roles = await assets.roles(
          caller,
          'integration',
          all.map(({ id }) => id),
        );
        return all
          .filter(({ id }) => roles.has(id))
          .map((integration) => toRecord(integration, roles.get(integration.id), caller.userId));
      },
    }),
    endpoint({
      method: 'get',
      path: '/integrations/available',
      summary: 'Providers that can be configured',
      tag,
      access: read,
      response: AvailableIntegrations,
      handle: async () => ({ integrations: [...providerNames] }),
    }),
    ...tokenProviders.map(({ name: provider, label, request, toStored, toSecrets }) =>
      endpoint({
        method: 'put',
        path: `/integrations/${provider}`,
        summary: `Create or update the ${label} integration`,
        tag,
        access: onNamed('update', provider, provider),
        body: request,
        response: IntegrationDB,
        handle: async ({ body, caller }) => {
          const content = { provider, config: toStored(body) };
          const secrets = toSecrets?.(body) ?? { token: body.token };
          return described(caller, await saveProviderIntegration(deps, caller.userId, content, secrets));
        },
      }),
    ),
    endpoint({
      method: 'put',
      path: '/integrations/custom',
      summary: 'Create or update the custom integration with the slug `custom`',
      tag,
      access: onNamed('update', 'custom', 'custom'),
      body: CustomIntegrationCreate,
      response: IntegrationDB,
      handle: async ({ body, caller }) =>
        described(caller, await saveCustomIntegration(deps, { name: 'custom', userId: caller.userId }, body)),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/custom/definition',
      errors: ['IntegrationNotFound'],
      summary: 'Definition of the custom integration with the slug `custom`, with its secrets',
      description: definitionDescription,
      tag,
      access: onNamed('read_secrets', 'custom', 'custom'),
      response: CustomIntegrationDefinition,
      handle: () => definitionOf('custom'),
    }),
    endpoint({
      method: 'put',
      path: '/integrations/custom/{name}',
      summary: 'Create or update a custom integration',
      description:
        'Secrets (`token`, `api_key_value`, `headers`, `init_kwargs`) are sealed; only the definition route returns them. A secret that is left out stays as it is stored, unless the endpoint, the token URL, the key header or the authentication type changes: then it must be given again. `token` holds OAuth2 client credentials: `client_id:client_secret`, the same in base64, or JSON with `client_id` and `client_secret`.',
      tag,
      access: onNamed('update', 'custom', undefined),
      params: CustomIntegrationPath,
      body: CustomIntegrationCreate,
      response: IntegrationDB,
      handle: async ({ params, body, caller }) =>
        described(caller, await saveCustomIntegration(deps, { name: params.name, userId: caller.userId }, body)),
    }),
    // Before `custom/{name}`, which would take the status of `custom` for that of a slug.
    endpoint({
      method: 'get',
      path: '/integrations/{name}/status',
      summary: "Whether a provider's integration is configured",
      tag,
      access: onProvider,
      params: ProviderPath,
      response: IntegrationStatus,
      handle: async ({ params }) => statusOf(await findByProvider(store, params.name)),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/custom/{name}',
      summary: 'Get a custom integration',
      tag,
      access: onNamed('read', 'custom', undefined),
      params: CustomIntegrationPath,
      response: IntegrationDB,
      handle: async ({ params, caller }) => described(caller, await findCustom(store, params.name)),
    }),
    endpoint({
      method: 'delete',
      path: '/integrations/custom/{name}',
      summary: 'Delete a custom integration',
      tag,
      access: onNamed('delete', 'custom', undefined),
      params: CustomIntegrationPath,
      response: AnyJson,
      handle: async ({ params }) => removeIntegration(store, 'custom', params.name),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/custom/{name}/definition',
      summary: 'Definition of a custom integration, with its secrets',
      description: definitionDescription,
      tag,
      access: onNamed('read_secrets', 'custom', undefined),
      params: CustomIntegrationPath,
      response: CustomIntegrationDefinition,
      handle: ({ params }) => definitionOf(params.name),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/custom/{name}/status',
      summary: 'Whether a custom integration is configured',
      tag,
      access: onNamed('read', 'custom', undefined),
      params: CustomIntegrationPath,
      response: IntegrationStatus,
      handle: async ({ params }) => statusOf(await findCustom(store, params.name)),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/{name}',
      summary: "A provider's settings, without secrets",
      tag,
      access: onProvider,
      params: ProviderPath,
      response: ProviderSettings,
      handle: async ({ params }) => toSettings(await findByProvider(store, params.name)),
    }),
    endpoint({
      method: 'delete',
      path: '/integrations/{name}',
      errors: ['Conflict'],
      summary: "Delete a provider's integration",
      tag,
      access: { ...onProvider, ...needs('delete'), orElse: 'manage_integrations' },
      params: ProviderPath,
      response: AnyJson,
      handle: async ({ params }) => {
        const { provider, name } = await onlyOfProvider(store, params.name);
        await removeIntegration(store, provider, name);
      },
    }),
    endpoint({
      method: 'get',
      path: '/integrations/{integration_id}/settings',
      summary: 'Settings of an integration, without secrets',
      tag,
      access: needs('read'),
      query: NoQuery,
      params: IntegrationIdPath,
      response: ProviderSettings,
      handle: async ({ params }) => toSettings(await findById(store, params.integration_id)),
    }),
    endpoint({
      method: 'get',
      path: '/integrations/{integration_id}/limits',
      summary: 'What the calls of an integration may use',
      tag,
      access: needs('read'),
      query: NoQuery,
      params: IntegrationIdPath,
      response: CallLimitsBody,
      handle: async ({ params }) => limitsBody((await findById(store, params.integration_id)).limits),
    }),
    endpoint({
      method: 'put',
      path: '/integrations/{integration_id}/limits',
      summary: 'Limit the calls of an integration, over all workers',
      description:
        'Replaces all limits; calls that wait go by the new ones within a second, or with the next call of their process.',
      tag,
      access: needs('update'),
      params: IntegrationIdPath,
      body: CallLimitsBody,
      response: CallLimitsBody,
      handle: async ({ params, body }) => {
        const limits = limitsFrom(body);
        await store.setLimits((await findById(store, params.integration_id)).id, limits);
        return limitsBody(limits);
      },
    }),
    endpoint({
      method: 'get',
      path: '/integrations/{integration_id}/prices',
      summary: 'What the models of an integration cost, as it was set',
      tag,
      access: needs('read'),
      query: NoQuery,
      params: IntegrationIdPath,
      response: IntegrationPrices,
      handle: async ({ params }) => pricesBody((await findById(store, params.integration_id)).prices),
    }),
    endpoint({
      method: 'put',
      path: '/integrations/{integration_id}/prices',
      summary: 'Set what the models of an integration cost',
      description:
        'Replaces all of them; an empty list leaves the list prices. A price counts for calls from its `valid_from` on that are logged from now on: what is stored keeps its cost. Other processes of the service go by it within 5 seconds.',
      tag,
      access: needs('update'),
      params: IntegrationIdPath,
      body: IntegrationPrices,
      response: IntegrationPrices,
      handle: async ({ params, body }) => {
        const prices = pricesFrom(body);
        await store.setPrices((await findById(store, params.integration_id)).id, prices);
        await deps.prices.refresh();
        return pricesBody(prices);
      },
    }),
    endpoint({
      method: 'post',
      path: '/integrations/{integration_id}/test_call',
      summary: 'Call a model of an integration once, to see whether it answers',
      description:
        'A real call, with its cost, within the limits of the integration. It is tried once and has 30 s; it waits at most 15 s for other calls. A call that fails is answered 200 with its `error`.',
      tag,
      access: needs('update'),
      params: IntegrationIdPath,
      body: IntegrationTestRequest,
      response: IntegrationTestResult,
      waits: true,
      handle: async ({ params, body, signal }) =>
        testCall(
          deps.models,
          await findById(store, params.integration_id),
          { model: body.model ?? null, prompt: body.prompt ?? null },
          signal,
        ),
    }),
  ];
}

const statusOf = (integration: Integration) => ({ status: 'configured', updated_at: integration.updatedAt.toISOString() });
