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
const Stored = z.object({ ...shown, token_uri: z.string() });

const isClaude = (model: string): boolean => model.startsWith('claude-');

function pathOf(model: string): string[] {
  // A tuned model is asked at the endpoint that it is deployed to, which has a number.
  if (/^\d+$/.test(model)) return ['endpoints', model];
  // Google parts a snapshot from its model by an @, Anthropic by a dash. The first models of version 4 have no second number there.
  if (isClaude(model))
    return ['publishers', 'anthropic', 'models', model.replace(/-(20\d{6})$/, '@$1').replace(/-4-0(?=@|$)/, '-4')];
  return ['publishers', 'google', 'models', model];
}

/** Models of Google and Anthropic in a project of the user's: https://cloud.google.com/vertex-ai/generative-ai/docs */
export const vertexAi = tokenProvider({
  name: 'vertex_ai',
  label: 'Vertex AI',
  sent: z.object({
    token: ServiceAccountKey,
    multi_modal_config: MultiModalConfig.nullish(),
    gcs_config: z
      .object({ service_account_credentials: z.string(), bucket_name: z.string(), object_path_prefix: z.string() })
      .nullish(),
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
  shown: z.object({ ...shown, gcs_config: z.null() }),
  toStored({ token, multi_modal_config, gcs_config, project_id, location, endpoint }) {
    const account = serviceAccountIn(token);
    const project = project_id ?? account.project_id;
    const wrong = (field: string, msg: string, type: string) => new RequestInvalid([{ loc: ['body', field], msg, type }]);
    if (gcs_config)
      throw wrong('gcs_config', 'gcs_config is not supported: files are sent in the request, up to 20 MB', 'value_error');
    if (project == null) throw wrong('project_id', 'project_id is required when the key in `token` names no project', 'missing');
    return {
      ...{ project_id: project, location, token_uri: account.token_uri },
      multi_modal_config: keptFileLimits(multi_modal_config),
      endpoint: endpoint ?? null,
    };
  },
  toShown: ({ token_uri: _, ...stored }) => ({ ...stored, gcs_config: null }),
  addresses: ({ endpoint, token_uri }) => ({ endpoint, token: token_uri }),
  connect({ project_id, location, endpoint, token_uri, multi_modal_config }, { token = '' }) {
    const base = endpoint ?? addressIn(location);
    return {
      endpoint: base,
      addressOf(model, _settings, isStreamed) {
        const url = new URL(modelPath(base, ['v1', 'projects', project_id, 'locations', location, ...pathOf(model)]));
        if (isClaude(model)) {
          url.pathname = url.pathname.replace('%40', '@');
          url.pathname += isStreamed ? ':streamRawPredict' : ':rawPredict';
          return url.href;
        }
        url.pathname += isStreamed ? ':streamGenerateContent' : ':generateContent';
        if (isStreamed) url.searchParams.set('alt', 'sse');
        return url.href;
      },
      authentication: { kind: 'oauth2', grant: 'service_account', tokenUrl: token_uri, scope: SCOPE, credentials: token },
      protocolOf: (model) => (isClaude(model) ? anthropicOnVertex : gemini),
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

/** https://cloud.google.com/vertex-ai/docs/reference/rest#rest_endpoints */
const addressIn = (location: string): string =>
  location === 'global'
    ? 'https://aiplatform.googleapis.com'
    : location.includes('-')
      ? `https://${location}-aiplatform.googleapis.com`
      : `https://aiplatform.${location}.rep.googleapis.com`;
