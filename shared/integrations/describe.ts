import { z } from 'zod';
import { mayOnAsset, type ProjectRole } from '../accounts/permissions.ts';
import { ServiceError } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import type { CustomConfig } from '../providers/custom.ts';
import { findTokenProvider, tokenProviders } from '../providers/index.ts';
import type { Secrets } from '../providers/provider.ts';
import {
  type CustomIntegrationDefinition,
  CustomSettings,
  type IntegrationProvider,
  settingsIdentity,
} from '../wire/integrations.ts';
import type { Integration, IntegrationStore } from './integration.ts';

/** Settings of a provider's integration without secrets, by `provider`. */
export const ProviderSettings = z.discriminatedUnion('provider', [
  CustomSettings,
  ...tokenProviders.map(({ name, shown }) => z.object({ ...settingsIdentity, provider: z.literal(name), ...shown.shape })),
]);
export type ProviderSettings = z.output<typeof ProviderSettings>;

/**
 * Lists the actions on an integration, and says of each if a caller with this role may do it. Only the secrets of custom ones can be read, and older
 * clients refuse the whole answer for that action, which they do not know.
 */
function permissionsOf(role: ProjectRole | undefined, provider: Integration['provider']) {
  const actions = ['update', 'delete', 'share', ...(provider === 'custom' ? (['read_secrets'] as const) : [])] as const;
  return actions.map((action) => {
    const allowed = role !== undefined && mayOnAsset(role, action);
    return { action, allowed, ...(allowed ? {} : { message: 'only its owners, administrators and managers may do this' }) };
  });
}

/** @param userId whose choice is shown */
export function toRecord(integration: Integration, role: ProjectRole | undefined, userId: string) {
  return {
    id: integration.id,
    permissions: permissionsOf(role, integration.provider),
    name: integration.name,
    provider: integration.provider,
    created_at: integration.createdAt.toISOString(),
    updated_at: integration.updatedAt.toISOString(),
    created_by: integration.createdBy,
    is_selected: integration.selectedBy.includes(userId),
    is_disabled: integration.disabledBy.includes(userId),
  };
}

/** The integration of a provider: for `custom` the one with that slug, or else the oldest, as older clients know only one. */
export const ofProvider = async (store: IntegrationStore, provider: string): Promise<Integration | undefined> =>
  (await store.find(provider, provider)) ?? (await store.list()).find((one) => one.provider === provider);

/** @throws ServiceError `IntegrationNotFound` */
export async function findByProvider(store: IntegrationStore, provider: string): Promise<Integration> {
  const found = await ofProvider(store, provider);
  if (found) return found;
  throw new ServiceError('IntegrationNotFound', `no ${provider} integration is configured`);
}

/** As {@link findByProvider}, for what cannot be taken back. @throws ServiceError `Conflict` where several custom ones could be meant */
export async function onlyOfProvider(store: IntegrationStore, provider: string): Promise<Integration> {
  const found = await findByProvider(store, provider);
  if (found.provider !== 'custom' || found.name === provider) return found;
  const count = (await store.list()).filter((one) => one.provider === 'custom').length;
  if (count === 1) return found;
  throw new ServiceError(
    'Conflict',
    `none of the ${count} custom integrations is called "custom"; DELETE /v2/integrations/custom/{name} deletes the one that you name`,
  );
}

/** @throws ServiceError `IntegrationNotFound` */
export async function findCustom(store: IntegrationStore, name: string) {
  const found = await store.find('custom', name);
  if (found?.provider === 'custom') return found;
  throw new ServiceError('IntegrationNotFound', `no custom integration "${name}"`);
}

/** @throws ServiceError `IntegrationNotFound` */
export async function findById(store: Pick<IntegrationStore, 'list'>, id: string): Promise<Integration> {
  const found = (await store.list()).find((one) => one.id === id);
  if (found) return found;
  throw new ServiceError('IntegrationNotFound', `no integration has the id ${id}`);
}

/** @throws ServiceError `IntegrationNotFound` */
export async function removeIntegration(store: IntegrationStore, provider: IntegrationProvider, name: string): Promise<void> {
  if (!(await store.remove(provider, name)))
    throw new ServiceError('IntegrationNotFound', `no ${provider} integration "${name}"`);
}

/** Settings without secrets. */
export function toSettings(integration: Integration): ProviderSettings {
  const identity = { id: integration.id, name: integration.name, extra: null };
  if (integration.provider !== 'custom') {
    const { toShown } = findTokenProvider(integration.provider);
    return { ...identity, provider: integration.provider, ...toShown(integration.config) };
  }
  return {
    ...identity,
    provider: 'custom',
    ...customFields(integration.config),
    models: integration.config.isLegacyFormat ? (integration.config.models ?? []).map((model) => model.name) : null,
    is_legacy_format: integration.config.isLegacyFormat,
  };
}

/** Settings with their secrets, opened: for callers whose `read_secrets` is allowed. */
export function toDefinition(
  config: CustomConfig,
  { token, apiKeyValue, headers, initKwargs }: Secrets,
): CustomIntegrationDefinition {
  const { custom_llm_config, ...fields } = customFields(config);
  return {
    ...fields,
    token: token ?? null,
    api_key_value: apiKeyValue ?? null,
    headers: headers === undefined ? null : (parseJson(headers) as Record<string, string>),
    custom_llm_config: custom_llm_config && {
      ...custom_llm_config,
      init_kwargs: initKwargs === undefined ? null : (parseJson(initKwargs) as Record<string, unknown>),
    },
  };
}

const customFields = (config: CustomConfig) => ({
  multi_modal_config: config.multiModal && {
    max_files: config.multiModal.maxFiles,
    max_file_size_bytes: config.multiModal.maxFileSizeBytes,
  },
  authentication_type: config.authenticationType,
  model_properties:
    config.models?.map((model) => ({
      name: model.name,
      alias: model.alias ?? model.name,
      based_on: model.basedOn,
      supported_parameters: model.supportedParameters,
    })) ?? null,
  default_model: config.defaultModel ?? config.models?.[0]?.name ?? null,
  endpoint: config.endpoint,
  authentication_scope: config.authenticationScope,
  oauth2_token_url: config.oauth2TokenUrl,
  api_key_header: config.apiKeyHeader,
  api_key_value: null,
  custom_llm_config: config.handler && {
    file_name: config.handler.fileName,
    class_name: config.handler.className,
    init_kwargs: null,
  },
  custom_header_mapping: config.headerMapping,
  headers: null,
});
