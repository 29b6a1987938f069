import { z } from 'zod';
import type { CustomConfig, Secrets } from '../integrations/integration.ts';
import { parseJson } from '../json/parseJson.ts';
import { openaiResponses, responsesUrl, speaksResponses } from './openaiResponses.ts';
import { type Authentication, type Connection, contextHeadersOf, sealedHeaders } from './provider.ts';

const KwargsJson = z.record(z.string(), z.unknown());

/** An endpoint that a user named, with one of the three ways to authenticate. */
export const customConnection = (config: CustomConfig, secrets: Secrets): Connection => ({
  endpoint: config.endpoint,
  ...(speaksResponses(config.endpoint) && { addressOf: () => responsesUrl(config.endpoint), protocolOf: () => openaiResponses }),
  authentication: authenticationOf(config, secrets),
  headers: sealedHeaders(secrets),
  contextHeaders: contextHeadersOf(config.headerMapping),
  handler: config.handler && { ...config.handler, initKwargs: KwargsJson.parse(parseJson(secrets.initKwargs ?? '{}')) },
  fileLimits: config.multiModal,
  mayRatePrompts: true,
});

function authenticationOf(config: CustomConfig, secrets: Secrets): Authentication {
  switch (config.authenticationType) {
    case 'none':
      return { kind: 'none' };
    case 'api_key':
      return { kind: 'header', name: config.apiKeyHeader ?? '', value: secrets.apiKeyValue ?? '' };
    case 'oauth2':
      return {
        kind: 'oauth2',
        tokenUrl: config.oauth2TokenUrl ?? config.endpoint,
        scope: config.authenticationScope,
        credentials: secrets.token ?? null,
      };
  }
}
