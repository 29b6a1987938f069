import { z } from 'zod';
import { documentedAs, Uuid } from './common.ts';
import { mapOf } from './mapOf.ts';

export const IntegrationProvider = z.enum([
  'anthropic',
  'aws_bedrock',
  'aws_sagemaker',
  'azure',
  'custom',
  'databricks',
  'mistral',
  'nvidia',
  'openai',
  'vegas_gateway',
  'vertex_ai',
  'writer',
]);
export type IntegrationProvider = z.output<typeof IntegrationProvider>;

/** Fields of a run-parameter map: the names `supported_parameters` may use. */
export const RunParameter = z.enum([
  'model',
  'temperature',
  'max_tokens',
  'stop_sequences',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'echo',
  'logprobs',
  'top_logprobs',
  'n',
  'api_version',
  'tools',
  'tool_choice',
  'response_format',
  'reasoning_effort',
  'verbosity',
  'deployment_name',
  'seed',
]);
export type RunParameter = z.output<typeof RunParameter>;

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that belong to the connection or frame the message: setting them would redirect or split the request. */
const CONNECTION_HEADERS = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
]);

const HeaderName = z
  .string()
  .max(256)
  .regex(TOKEN, { error: "must be a header name: letters, digits and !#$%&'*+.^_`|~- only" })
  .refine((name) => !CONNECTION_HEADERS.has(name.toLowerCase()), {
    error:
      'this header belongs to the connection and cannot be set (Host, Content-Length, Transfer-Encoding, Connection and their like)',
  });
export const HeaderValue = z
  .string()
  .max(8_192)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: 'a header value must not hold line breaks, control or non-Latin-1 characters' });

export const Url = z
  .string()
  .max(2_083)
  .refine((text) => URL.canParse(text) && /^https?:\/\//i.test(text), {
    error: 'must be a URL that starts with https:// or http://',
  });

const text = z.string().min(1).max(512);
const secret = z.string().min(1).max(16_384);

/** Slugs that a route or a provider already owns. */
const RESERVED_SLUGS: ReadonlySet<string> = new Set([
  ...IntegrationProvider.options.filter((name) => name !== 'custom'),
  'definition',
  'status',
]);

export const CustomIntegrationPath = z.object({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
      error: 'must be a slug: up to 100 letters, digits, ".", "_" or "-", the first one a letter or digit',
    })
    .refine((name) => !RESERVED_SLUGS.has(name), {
      error: 'this name is reserved for a built-in provider or route; choose another slug',
    }),
});
export const IntegrationIdPath = z.object({ integration_id: Uuid });
export const ProviderPath = z.object({ name: IntegrationProvider });
export const LlmIntegrationPath = z.object({ llm_integration: IntegrationProvider });

export const ModelProperties = z
  .object({
    name: text,
    alias: text.nullish(),
    based_on: text.nullish(),
    supported_parameters: z.array(RunParameter).nullish(),
  })
  .refine((model) => model.based_on == null || model.supported_parameters == null, {
    error: 'based_on and supported_parameters exclude each other: give one of them',
    path: ['supported_parameters'],
  });

/** A handler file is a plain name inside the handlers folder: anything that could name another place is refused. */
export const CustomLlmConfig = z.object({
  file_name: z
    .string()
    .max(255)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, { error: 'must be a plain file name without folders, such as handler.ts' }),
  class_name: z
    .string()
    .max(255)
    .regex(/^[\p{L}_$][\p{L}\p{N}_$]*$/u, { error: 'must be the name of a class' }),
  init_kwargs: z.record(z.string(), z.unknown()).nullish(),
});

export const MultiModalConfig = z.object({
  max_files: z.number().int().min(1).nullish(),
  max_file_size_bytes: z.number().int().min(1).nullish(),
});

/** The row's identifiers that can travel with a model request, each in a header that the integration names. */
export const HeaderMapping = z.partialRecord(z.enum(['job_id', 'user_id', 'project_id', 'run_id']), HeaderName);

/** Problems of a request whose headers, mapping of headers and authentication name one header twice. @param authentication its header */
export function headersSetTwice(
  authentication: string | undefined,
  headers: Readonly<Record<string, string>> | null | undefined,
  mapping: Readonly<Record<string, string>> | null | undefined,
  field = 'headers',
): { path: string[]; message: string }[] {
  const names = new Set(authentication === undefined ? [] : [authentication.toLowerCase()]);
  const entries = [
    ...Object.keys(headers ?? {}).map((name) => ({ name, path: [field, name] })),
    ...Object.entries(mapping ?? {}).map(([key, name]) => ({ name, path: ['custom_header_mapping', key] })),
  ];
  return entries.flatMap(({ name, path }) => {
    const lower = name.toLowerCase();
    if (!names.has(lower)) {
      names.add(lower);
      return [];
    }
    return [{ path, message: `the header ${name} is set twice: by the authentication, by ${field} or by custom_header_mapping` }];
  });
}

/** The scope that an access token is asked for. */
export const AuthenticationScope = z.string().max(2_048);

const MAX_HEADERS = 50;
/** Headers that a request to another service may carry, by name. */
export const Headers = mapOf(z.string(), HeaderValue).superRefine((headers, context) => {
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) {
    context.addIssue({ code: 'custom', message: `at most ${MAX_HEADERS} headers` });
    return;
  }
  // Not as the record's key type: that would say "invalid key" without the reason.
  for (const name of names)
    for (const { message } of HeaderName.safeParse(name).error?.issues ?? [])
      context.addIssue({ code: 'custom', path: [name], message });
});
documentedAs.set(Headers, z.record(z.string(), HeaderValue));

export const AuthenticationType = z.enum(['api_key', 'none', 'oauth2']);

export const CustomIntegrationCreate = z
  .object({
    multi_modal_config: MultiModalConfig.nullish(),
    authentication_type: AuthenticationType.nullish(),
    models: z.array(text).nullish(),
    model_properties: z.array(ModelProperties).nullish(),
    is_legacy_format: z.boolean().nullish(),
    default_model: text.nullish(),
    endpoint: Url,
    authentication_scope: AuthenticationScope.nullish(),
    oauth2_token_url: Url.nullish(),
    api_key_header: z.string().nullish(),
    api_key_value: z.string().nullish(),
    custom_llm_config: CustomLlmConfig.nullish(),
    custom_header_mapping: HeaderMapping.nullish(),
    headers: Headers.nullish(),
    token: secret.nullish(),
  })
  .superRefine((body, context) => {
    const wrong = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (body.authentication_type === 'api_key') {
      for (const [field, schema] of [
        ['api_key_header', HeaderName],
        ['api_key_value', HeaderValue],
      ] as const) {
        const value = body[field];
        if (value == null || value.trim() === '') {
          wrong([field], `${field} is required when authentication_type is api_key`);
          continue;
        }
        for (const issue of schema.safeParse(value).error?.issues ?? []) wrong([field], issue.message);
      }
    }
    const aliases = new Set<string>();
    for (const [index, model] of (body.model_properties ?? []).entries()) {
      const alias = model.alias ?? model.name;
      if (aliases.has(alias)) wrong(['model_properties', index, 'alias'], `two models have the alias "${alias}"`);
      aliases.add(alias);
    }
    const authentication = { oauth2: 'authorization', api_key: body.api_key_header ?? undefined, none: undefined }[
      body.authentication_type ?? 'oauth2'
    ];
    for (const { path, message } of headersSetTwice(authentication, body.headers, body.custom_header_mapping))
      wrong(path, message);
  })
  .meta({ id: 'CustomIntegrationCreate' });
export type CustomIntegrationCreate = z.output<typeof CustomIntegrationCreate>;

/** A credential that proves to a provider who calls it, in a header. */
export const ProviderToken = secret.regex(/^[\x21-\x7e]+$/, { error: 'must be printable characters without spaces' });

/** Client credentials, or such a token: the type of the authentication decides. */
export const TokenOrCredentials = secret;

export const IntegrationAction = z.enum(['update', 'delete', 'share', 'read_secrets']);

export const IntegrationPermission = z.object({
  action: IntegrationAction,
  allowed: z.boolean(),
  message: z.string().nullish(),
});

export const IntegrationDB = z
  .object({
    id: Uuid,
    permissions: z.array(IntegrationPermission),
    name: z.string(),
    provider: IntegrationProvider,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    created_by: Uuid,
    is_selected: z.boolean(),
    is_disabled: z.boolean(),
  })
  .meta({ id: 'IntegrationDB' });

export const IntegrationSelectRequest = z.object({
  integration_name: z.string().min(1).describe('The provider of the integration, or its own name.'),
  integration_id: Uuid,
});
export const IntegrationDisableRequest = z.object({
  integration_name: z.string().min(1).describe('A provider, for all of its integrations; or the name of one custom integration.'),
});

export const AvailableIntegrations = z.object({ integrations: z.array(IntegrationProvider) });

const StoredModel = z.object({
  name: z.string(),
  alias: z.string().nullable(),
  based_on: z.string().nullable(),
  supported_parameters: z.array(z.string()).nullable(),
});

export const ShownMultiModalConfig = z.object({
  max_files: z.number().nullable(),
  max_file_size_bytes: z.number().nullable(),
});

/** The fields of a custom integration that every caller may read: those of its secrets are null. */
const customFields = {
  multi_modal_config: ShownMultiModalConfig.nullable(),
  authentication_type: AuthenticationType,
  model_properties: z.array(StoredModel).nullable(),
  default_model: z.string().nullable(),
  endpoint: z.string(),
  authentication_scope: z.string().nullable(),
  oauth2_token_url: z.string().nullable(),
  api_key_header: z.string().nullable(),
  api_key_value: z.null(),
  custom_llm_config: z.object({ file_name: z.string(), class_name: z.string(), init_kwargs: z.null() }).nullable(),
  custom_header_mapping: z.record(z.string(), z.string()).nullable(),
  headers: z.null(),
};

/** The first fields of every provider's settings. */
export const settingsIdentity = { id: Uuid, name: z.string(), extra: z.null() };

/** Settings of a custom integration without secrets. */
export const CustomSettings = z.object({
  ...customFields,
  ...settingsIdentity,
  provider: z.literal('custom'),
  models: z.array(z.string()).nullable(),
  is_legacy_format: z.boolean(),
});

/** With its secrets. */
export const CustomIntegrationDefinition = z
  .object({
    ...customFields,
    token: z.string().nullable(),
    api_key_value: z.string().nullable(),
    headers: z.record(z.string(), z.string()).nullable(),
    custom_llm_config: z
      .object({ file_name: z.string(), class_name: z.string(), init_kwargs: z.record(z.string(), z.unknown()).nullable() })
      .nullable(),
  })
  .meta({ id: 'CustomIntegrationDefinition' });
export type CustomIntegrationDefinition = z.output<typeof CustomIntegrationDefinition>;

export const IntegrationStatus = z.record(z.string(), z.string());

const Modality = z.enum(['text', 'document', 'image', 'audio', 'video']);
export type Modality = z.output<typeof Modality>;
const MultimodalCapability = z.enum(['vision', 'audio']);

export const ModelsQuery = z.object({
  multimodal_capabilities: z.preprocess(
    (value) => (typeof value === 'string' ? [value] : value),
    z.array(MultimodalCapability).nullish(),
  ),
});

export const IntegrationModelsResponse = z
  .object({
    integration_name: z.string(),
    integration_id: Uuid,
    provider: IntegrationProvider,
    models: z.array(z.string()),
    scorer_models: z.array(z.string()),
    recommended_models: z.record(z.string(), z.array(z.string())),
    supports_num_judges: z.boolean(),
    supports_file_uploads: z.boolean(),
    model_properties: z.array(
      z.object({
        alias: z.string(),
        name: z.string(),
        input_modalities: z.array(Modality),
        multimodal_capabilities: z.array(MultimodalCapability),
      }),
    ),
  })
  .meta({ id: 'IntegrationModelsResponse' });
export type IntegrationModelsResponse = z.output<typeof IntegrationModelsResponse>;

/** By provider or integration, and what they are recommended for. */
const Recommendations = z.record(z.string(), z.record(z.string(), z.array(z.string())));
export const RecommendedModelsResponse = z
  .object({
    supported: Recommendations.describe('By provider, whether it is connected or not.'),
    available: Recommendations.describe('By integration, of those that you use: the names that run settings take.'),
  })
  .meta({ id: 'RecommendedModelsResponse' });

export const ModelsOfRunPath = z.object({ project_id: Uuid, run_id: Uuid });

export const IntegrationModels = z.record(z.string(), IntegrationModelsResponse);
export const ModelNames = z.array(z.string());
