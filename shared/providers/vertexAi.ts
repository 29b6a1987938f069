import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { orDefault } from '../wire/common.ts';
import { MultiModalConfig, ShownMultiModalConfig, Url } from '../wire/integrations.ts';
import { fileLimitsOf, keptFileLimits } from './addressSettings.ts';
import { anthropicOnVertex } from './anthropicMessages.ts';
import { gemini } from './gemini.ts';
import { type ParameterMap, textAndImages } from './modelFamily.ts';
import { modelPath, tokenProvider } from './provider.ts';
import { ServiceAccountKey, serviceAccountIn } from './serviceAccount.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Parameters that Google's endpoint for clients of OpenAI takes as well, by which custom integrations reach these models: https://ai.google.dev/gemini-api/docs/openai */
const parameters: ParameterMap = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  top_p: 'top_p',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
  reasoning_effort: 'reasoning_effort',
};

const shown = {
  multi_modal_config: ShownMultiModalConfig.nullable(),
  project_id: z.string(),
  location: z.string(),
  endpoint: z.string().nullable(),
};
const StoredBucket = z.object({ name: z.string(), prefix: z.string(), endpoint: z.string(), token_uri: z.string() });
const Stored = z.object({ ...shown, token_uri: z.string(), bucket: StoredBucket.nullish() });

const STORAGE = 'https://storage.googleapis.com';
const STORAGE_SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write';

const BucketSettings = z
  .object({
    service_account_credentials: ServiceAccountKey,
    bucket_name: z.string().regex(/^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/, { error: 'must be the name of a bucket' }),
    object_path_prefix: z
      .string()
      .max(800)
      .regex(/^[^\p{Cc}#[\]*?]*$/u, { error: 'must be the beginning of names of objects, such as assay/files' }),
    endpoint: Url.nullish().describe('The address of a gateway of your own, in place of https://storage.googleapis.com.'),
  })
  .meta({ id: 'VertexAIGCSConfig' });

const isClaude = (model: string): boolean => model.startsWith('claude-');

/**
 * True of a model whose maker is part of its name, such as `meta/llama-4-maverick-17b-128e-instruct-maas`. All of these are asked at one endpoint, by
 * OpenAI's chat protocol: https://cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis
 */
const isOfMaker = (model: string): boolean => model.includes('/');

function pathOf(model: string): string[] {
  if (isOfMaker(model)) return ['endpoints', 'openapi', 'chat', 'completions'];
  // A tuned model is asked at the endpoint that it is deployed to, which has a number.
  if (/^\d+$/.test(model)) return ['endpoints', model];
  // Google parts a snapshot from its model by an @, Anthropic by a dash. The first models of version 4 have no second number there.
  if (isClaude(model))
    return ['publishers', 'anthropic', 'models', model.replace(/-(20\d{6})$/, '@$1').replace(/-4-0(?=@|$)/, '-4')];
  return ['publishers', 'google', 'models', model];
}

/** Models of Google, Anthropic and other makers in a project of the user's: https://cloud.google.com/vertex-ai/generative-ai/docs */
export const vertexAi = tokenProvider({
  name: 'vertex_ai',
  label: 'Vertex AI',
  sent: z.object({
    token: ServiceAccountKey,
    multi_modal_config: MultiModalConfig.nullish(),
    gcs_config: BucketSettings.nullish(),
    project_id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.:-]{0,99}$/, { error: 'must be the id of a project of Google Cloud' })
      .nullish(),
    location: orDefault(
      z.string().regex(/^[a-z]+(-[a-z]+\d+)?$/, { error: 'must be a location such as global, eu or europe-west4' }),
      'global',
    ),
    endpoint: Url.nullish(),
  }),
  stored: Stored,
  shown: z.object({
    ...shown,
    gcs_config: z
      .object({ bucket_name: z.string(), object_path_prefix: z.string(), endpoint: z.string().optional() })
      .meta({ id: 'VertexAIGCSConfigResponse' })
      .nullable(),
  }),
  toStored({ token, multi_modal_config, gcs_config, project_id, location, endpoint }) {
    const account = serviceAccountIn(token);
    const project = project_id ?? account.project_id;
    const wrong = (field: string, msg: string, type: string) => new RequestInvalid([{ loc: ['body', field], msg, type }]);
    if (project == null) throw wrong('project_id', 'project_id is required when the key in `token` names no project', 'missing');
    return {
      ...{ project_id: project, location, token_uri: account.token_uri },
      multi_modal_config: keptFileLimits(multi_modal_config),
      endpoint: endpoint ?? null,
      bucket: gcs_config ? toBucket(gcs_config) : null,
    };
  },
  toShown: ({ token_uri: _, bucket, ...stored }) => ({
    ...stored,
    gcs_config: bucket ? shownBucket(bucket) : null,
  }),
  toSecrets: ({ token, gcs_config }) => ({
    token,
    ...(gcs_config ? { bucketToken: gcs_config.service_account_credentials } : {}),
  }),
  addresses: ({ endpoint, token_uri, bucket }) => ({
    ...{ endpoint, token: token_uri },
    ...(bucket ? { 'gcs_config.endpoint': bucket.endpoint, 'gcs_config.service_account_credentials': bucket.token_uri } : {}),
  }),
  connect({ project_id, location, endpoint, token_uri, multi_modal_config, bucket }, { token = '', bucketToken = '' }) {
    const base = endpoint ?? addressIn(location);
    const keyed = (tokenUrl: string, scope: string, credentials: string) => ({
      ...{ kind: 'oauth2' as const, grant: 'service_account' as const, tokenUrl, scope, credentials },
    });
    const files = bucket && { ...bucket, authentication: keyed(bucket.token_uri, STORAGE_SCOPE, bucketToken) };
    return {
      endpoint: base,
      addressOf(model, _settings, isStreamed) {
        const url = new URL(modelPath(base, ['v1', 'projects', project_id, 'locations', location, ...pathOf(model)]));
        if (isOfMaker(model)) return url.href;
        if (isClaude(model)) {
          url.pathname = url.pathname.replace('%40', '@');
          url.pathname += isStreamed ? ':streamRawPredict' : ':rawPredict';
          return url.href;
        }
        url.pathname += isStreamed ? ':streamGenerateContent' : ':generateContent';
        if (isStreamed) url.searchParams.set('alt', 'sse');
        return url.href;
      },
      authentication: keyed(token_uri, SCOPE, token),
      // Gemini alone fetches files.
      bucketOf: (model) => (isClaude(model) || isOfMaker(model) ? undefined : (files ?? undefined)),
      protocolOf: (model) => (isOfMaker(model) ? undefined : isClaude(model) ? anthropicOnVertex : gemini),
      ...{ headers: {}, contextHeaders: {}, handler: null, fileLimits: fileLimitsOf(multi_modal_config) },
    };
  },
  alsoHosts: 'anthropic',
  models: [
    {
      parameters,
      modalities: textAndImages,
      names: [
        ...['gemini-3.8-flash', 'gemini-3.7-flash', 'gemini-3.6-flash', 'gemini-3.5-flash', 'gemini-3.5-flash-lite'],
        ...['gemini-3.1-pro-preview', 'gemini-3.1-flash-lite', 'gemini-3-pro-preview', 'gemini-3-flash-preview'],
        ...['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-2.0-flash', 'gemini-2.0-flash-lite'],
      ],
    },
  ],
});

/** The interface has no endpoint there: it is shown where it is the user's own. */
const shownBucket = ({ name, prefix, endpoint }: z.output<typeof StoredBucket>) => ({
  ...{ bucket_name: name, object_path_prefix: prefix.replace(/\/$/, '') },
  ...(endpoint === STORAGE ? {} : { endpoint }),
});

function toBucket(sent: z.output<typeof BucketSettings>): z.output<typeof StoredBucket> {
  const path = sent.object_path_prefix.replaceAll(/^\/+|\/+$/g, '');
  return {
    name: sent.bucket_name,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: sent.endpoint ?? STORAGE,
    token_uri: serviceAccountIn(sent.service_account_credentials).token_uri,
  };
}

/** https://cloud.google.com/vertex-ai/docs/reference/rest#rest_endpoints */
const addressIn = (location: string): string =>
  location === 'global'
    ? 'https://aiplatform.googleapis.com'
    : location.includes('-')
      ? `https://${location}-aiplatform.googleapis.com`
      : `https://aiplatform.${location}.rep.googleapis.com`;
