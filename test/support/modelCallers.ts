import { inProcessCoordination } from '../../shared/coordination/inProcess.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Integration, ProviderName } from '../../shared/integrations/integration.ts';
import type { ModelCaller } from '../../shared/modelCalls/modelCall.ts';
import { createModelCaller } from '../../shared/modelCalls/modelCaller.ts';
import type { OutboundGuard } from '../../shared/outbound/outbound.ts';
import { openPrices } from '../../shared/prices/openPrices.ts';
import type { CustomConfig } from '../../shared/providers/custom.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import type { Secrets } from '../../shared/providers/provider.ts';

/** A stored custom integration. Sealing is tested with the integrations; here the stored texts are the secrets. */
export function customIntegration(
  config: Partial<CustomConfig> & { endpoint: string },
  secrets: Secrets = {},
  name = 'mine',
): Integration {
  return {
    id: newId(),
    name,
    provider: 'custom',
    config: {
      authenticationType: 'none',
      models: [{ name: 'real-name', alias: 'nick', basedOn: null, supportedParameters: null }],
      isLegacyFormat: false,
      defaultModel: null,
      authenticationScope: null,
      oauth2TokenUrl: null,
      apiKeyHeader: null,
      handler: null,
      headerMapping: null,
      multiModal: null,
      ...config,
    },
    sealed: secrets,
    limits: { concurrency: 4 },
    prices: [],
    selectedBy: [],
    disabledBy: [],
    createdBy: newId(),
    createdAt: new Date(),
    updatedAt: new Date(),
  };
}

/** The integration that this request to connect a provider would store. Sealing is tested with the integrations. */
export function connectedProvider(provider: ProviderName, body: object): Integration {
  const { request, stored, toStored, toSecrets } = findTokenProvider(provider);
  const sent = request.parse(body);
  const secrets = toSecrets?.(sent) ?? { token: sent.token };
  const config = stored.parse(toStored(sent));
  return { ...customIntegration({ endpoint: '' }, secrets, provider), provider, config } as Integration;
}

/** A model caller over these integrations, at most four calls at a time each. */
export const modelCallerOver = (integrations: Integration[], guard: OutboundGuard, handlersDir?: string): ModelCaller =>
  createModelCaller({
    integrations: { list: async () => [...integrations] },
    openSecrets: (one) => one.sealed,
    outbound: guard,
    handlers: { directory: handlersDir, isolation: { env: {} }, memoryMb: 128 },
    calls: inProcessCoordination().calls,
    files: { find: async () => [], bytes: async () => undefined },
    prices: openPrices({ list: async () => integrations }),
  });
