import { z } from 'zod';
import { parseJson } from '../json/parseJson.ts';
import { AuthenticationType, RunParameter } from '../wire/integrations.ts';
import { openaiResponses, responsesUrl, speaksResponses } from './openaiResponses.ts';
import { type Authentication, type Connection, contextHeadersOf, type Secrets, sealedHeaders } from './provider.ts';

/** A model of a custom integration. Its parameters come from a built-in model, from a list, or from the default set. */
const CustomModel = z.object({
  name: z.string(),
  alias: z.string().nullable(),
  basedOn: z.string().nullable(),
  supportedParameters: z.array(RunParameter).nullable(),
});
export type CustomModel = z.output<typeof CustomModel>;

export const CustomConfig = z.object({
  authenticationType: AuthenticationType,
  endpoint: z.string(),
  /** Null where none was given: the endpoint takes whatever model name is asked for. */
  models: z.array(CustomModel).nullable(),
  /** True when the models came from the deprecated list of names. */
  isLegacyFormat: z.boolean(),
  defaultModel: z.string().nullable(),
  authenticationScope: z.string().nullable(),
  oauth2TokenUrl: z.string().nullable(),
  apiKeyHeader: z.string().nullable(),
  handler: z.object({ fileName: z.string(), className: z.string() }).nullable(),
  /** Header names by `job_id`, `user_id`, `project_id`, `run_id`. */
  headerMapping: z.record(z.string(), z.string()).nullable(),
  multiModal: z.object({ maxFiles: z.number().nullable(), maxFileSizeBytes: z.number().nullable() }).nullable(),
});
export type CustomConfig = z.output<typeof CustomConfig>;

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
