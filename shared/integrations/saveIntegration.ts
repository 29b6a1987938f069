import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { OutboundRefused } from '../outbound/outbound.ts';
import { closestBuiltinModels, findBuiltinModel } from '../providers/builtinModels.ts';
import type { CustomConfig, CustomModel } from '../providers/custom.ts';
import { findTokenProvider } from '../providers/index.ts';
import type { SecretField, Secrets } from '../providers/provider.ts';
import type { CustomIntegrationCreate } from '../wire/integrations.ts';
import type { Integration, IntegrationContent, IntegrationStore } from './integration.ts';
import { sealSecrets } from './sealing.ts';
import type { KeyRing } from './secrets.ts';

export interface SaveDeps {
  store: IntegrationStore;
  keyRing: KeyRing;
  /** The outbound guard's check of a user-supplied address. */
  checkAddress(url: string): Promise<void>;
  newId(): string;
}

/** How each secret is called in requests. */
const wireName: Record<SecretField, string> = {
  token: 'token',
  apiKeyValue: 'api_key_value',
  headers: 'headers',
  initKwargs: 'custom_llm_config.init_kwargs',
  bucketToken: 'gcs_config.service_account_credentials',
};

/**
 * Creates or replaces the custom integration `name`. A secret that is left out stays as it is stored, unless the endpoint, the token URL, the
 * key's header name or the authentication type changes: then the caller must send it again, or a user who may edit an integration could have
 * its stored key sent to an address of their own.
 * @throws RequestInvalid
 */
export async function saveCustomIntegration(
  deps: SaveDeps,
  key: { name: string; userId: string },
  body: CustomIntegrationCreate,
): Promise<Integration> {
  const config = toConfig(body);
  await checkAddresses(deps, { endpoint: config.endpoint, oauth2_token_url: config.oauth2TokenUrl });
  checkBasedOn(config.models ?? []);
  const given: Secrets = {
    ...(config.authenticationType === 'oauth2' && body.token != null && { token: body.token }),
    ...(config.authenticationType === 'api_key' && body.api_key_value != null && { apiKeyValue: body.api_key_value }),
    ...(body.headers != null && { headers: JSON.stringify(body.headers) }),
    ...(body.custom_llm_config?.init_kwargs != null && { initKwargs: JSON.stringify(body.custom_llm_config.init_kwargs) }),
  };
  return deps.store.save({ provider: 'custom', ...key }, (existing) => {
    const id = existing?.id ?? deps.newId();
    const kept = existing?.provider === 'custom' ? keptSecrets(existing, existing.config, config, given) : {};
    return { id, provider: 'custom', config, sealed: { ...kept, ...sealSecrets(deps.keyRing, id, given) } };
  });
}

/**
 * Creates or replaces the integration of a provider that is connected by a token. `given` are all of its secrets: none of the stored ones is kept.
 * @throws RequestInvalid
 */
export async function saveProviderIntegration(
  deps: SaveDeps,
  userId: string,
  content: Exclude<IntegrationContent, { provider: 'custom' }>,
  given: Secrets,
): Promise<Integration> {
  await checkAddresses(deps, findTokenProvider(content.provider).addresses?.(content.config) ?? {});
  return deps.store.save({ provider: content.provider, name: content.provider, userId }, (existing) => {
    const id = existing?.id ?? deps.newId();
    return { id, ...content, sealed: sealSecrets(deps.keyRing, id, given) };
  });
}

function toConfig(body: CustomIntegrationCreate): CustomConfig {
  const authenticationType = body.authentication_type ?? 'oauth2';
  const legacy = body.model_properties == null && body.models != null;
  const models: CustomModel[] | null = legacy
    ? [...new Set(body.models)].map((name) => ({ name, alias: name, basedOn: null, supportedParameters: null }))
    : (body.model_properties?.map((model) => ({
        name: model.name,
        alias: model.alias ?? null,
        basedOn: model.based_on ?? null,
        supportedParameters: model.supported_parameters ?? null,
      })) ?? null);
  return {
    authenticationType,
    endpoint: body.endpoint,
    models,
    isLegacyFormat: legacy,
    defaultModel: body.default_model ?? null,
    authenticationScope: body.authentication_scope ?? null,
    oauth2TokenUrl: body.oauth2_token_url ?? null,
    apiKeyHeader: authenticationType === 'api_key' ? (body.api_key_header ?? null) : null,
    handler: body.custom_llm_config
      ? { fileName: body.custom_llm_config.file_name, className: body.custom_llm_config.class_name }
      : null,
    headerMapping: body.custom_header_mapping ?? null,
    multiModal: body.multi_modal_config
      ? {
          maxFiles: body.multi_modal_config.max_files ?? null,
          maxFileSizeBytes: body.multi_modal_config.max_file_size_bytes ?? null,
        }
      : null,
  };
}

/** @param addresses by the field of the request */
async function checkAddresses(deps: SaveDeps, addresses: Readonly<Record<string, string | null>>): Promise<void> {
  const items: InvalidItem[] = [];
  for (const [field, url] of Object.entries(addresses)) {
    if (url === null) continue;
    try {
      await deps.checkAddress(url);
    } catch (err) {
      if (!(err instanceof OutboundRefused)) throw err;
      items.push({ loc: ['body', field], msg: err.message, type: 'outbound_refused' });
    }
  }
  if (items.length > 0) throw new RequestInvalid(items);
}

function checkBasedOn(models: readonly CustomModel[]): void {
  const items = models.flatMap((model, index): InvalidItem[] =>
    model.basedOn === null || findBuiltinModel(model.basedOn)
      ? []
      : [
          {
            loc: ['body', 'model_properties', index, 'based_on'],
            msg: `no built-in model is called "${model.basedOn}"; closest are ${closestBuiltinModels(model.basedOn).join(', ')}`,
            type: 'model_unknown',
          },
        ],
  );
  if (items.length > 0) throw new RequestInvalid(items);
}

/** The stored secrets that the new settings still use and the request leaves out. */
function keptSecrets(existing: Integration, before: CustomConfig, after: CustomConfig, given: Secrets): Secrets {
  const sameHandler =
    after.handler !== null &&
    before.handler?.fileName === after.handler.fileName &&
    before.handler.className === after.handler.className;
  const used: Record<SecretField, boolean> = {
    token: after.authenticationType === 'oauth2',
    apiKeyValue: false, // always part of the request
    headers: true,
    initKwargs: sameHandler,
    bucketToken: false, // none of its own
  };
  const kept = (Object.keys(used) as SecretField[]).filter(
    (field) => used[field] && given[field] === undefined && existing.sealed[field] !== undefined,
  );
  const missing = new Set(kept);
  if (before.authenticationType !== after.authenticationType && used.token && given.token === undefined) missing.add('token');
  const changed = [
    before.endpoint !== after.endpoint && 'endpoint',
    before.oauth2TokenUrl !== after.oauth2TokenUrl && 'oauth2_token_url',
    before.apiKeyHeader !== after.apiKeyHeader && 'api_key_header',
    before.authenticationType !== after.authenticationType && 'authentication_type',
  ].filter((field) => field !== false);
  if (changed.length > 0 && missing.size > 0)
    throw new RequestInvalid(
      [...missing].map((field) => ({
        loc: ['body', ...wireName[field].split('.')],
        msg: `${changed.join(' and ')} changed: give ${wireName[field]} again (the stored secret is not sent to a new destination)`,
        type: 'secret_required',
      })),
    );
  return Object.fromEntries(kept.map((field) => [field, existing.sealed[field]]));
}
