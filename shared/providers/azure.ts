import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { Headers, Url } from '../wire/integrations.ts';
import { addressConnection, keptAddressSettings, sentAddressSettings, toKeptAddressSettings } from './addressSettings.ts';
import { openai } from './openai.ts';
import { tokenProvider } from './provider.ts';

const name = z.string().min(1).max(512);
const Deployment = z.object({ model: name, id: name });

/** With `client_secret` and `custom_oauth2`, access tokens are asked for with client credentials. */
const AuthenticationType = z.enum(['api_key', 'client_secret', 'username_password', 'custom_oauth2']);

/** What an access token of Microsoft Entra must be for. */
const ENTRA_SCOPE = 'https://cognitiveservices.azure.com/.default';

const Kept = z.object({
  ...keptAddressSettings,
  authentication_type: AuthenticationType,
  endpoint: z.string(),
  proxy: z.boolean(),
  api_version: z.string(),
  azure_deployment: z.string().nullable(),
  default_headers: z.record(z.string(), z.string()).nullable(),
  deployments: z.record(z.string(), z.string()),
  available_deployments: z.array(Deployment).nullable(),
});
type Kept = z.output<typeof Kept>;

/** Models of OpenAI in a resource of the user's: https://learn.microsoft.com/azure/ai-services/openai/reference */
export const azure = tokenProvider({
  name: 'azure',
  label: 'Azure',
  sent: z.object({
    ...sentAddressSettings,
    authentication_type: AuthenticationType.default('api_key'),
    endpoint: Url,
    proxy: z.boolean().default(false),
    api_version: z
      .string()
      .regex(/^[\w.-]{1,64}$/, { error: 'must be a version such as 2025-03-01-preview' })
      .default('2025-03-01-preview'),
    azure_deployment: name.nullish(),
    default_headers: Headers.nullish(),
    deployments: z.record(name, name).default({}),
    available_deployments: z.array(Deployment).nullish(),
  }),
  stored: Kept,
  shown: Kept,
  toStored({ authentication_type, endpoint, proxy, api_version, deployments, ...sent }) {
    if (authentication_type === 'username_password')
      throw new RequestInvalid([
        {
          loc: ['body', 'authentication_type'],
          msg: 'username_password cannot be used: Microsoft Entra asks people for a second factor. Use api_key or client_secret',
          type: 'value_error',
        },
      ]);
    const kept = toKeptAddressSettings(sent, authentication_type);
    return {
      ...kept,
      authentication_scope: kept.authentication_scope ?? (authentication_type === 'client_secret' ? ENTRA_SCOPE : null),
      authentication_type,
      endpoint,
      proxy,
      api_version,
      azure_deployment: sent.azure_deployment ?? null,
      default_headers: sent.default_headers ?? null,
      deployments,
      available_deployments: sent.available_deployments ?? null,
    };
  },
  toShown: (stored) => stored,
  addresses: ({ endpoint, oauth2_token_url }) => ({ endpoint, oauth2_token_url }),
  connect: (stored, secrets) => ({
    endpoint: stored.endpoint,
    ...(!stored.proxy && { addressOf: (deployment: string) => deploymentAddress(stored, deployment) }),
    headers: stored.default_headers ?? {},
    ...addressConnection(stored, secrets, { kind: 'header', name: 'api-key', value: secrets.token ?? '' }),
  }),
  models: [],
  deployments: deploymentsOf,
});

/** Deployments carry the names of their models unless something else is said. */
function deploymentsOf({ azure_deployment, deployments, available_deployments }: Kept) {
  const listed = new Map([
    ...Object.entries(deployments),
    ...(available_deployments ?? []).map(({ model, id }) => [model, id] as const),
  ]);
  const all = [...listed].map(([model, deployment]) => ({ model, deployment }));
  if (azure_deployment !== null) {
    const first = all.find(({ deployment }) => deployment === azure_deployment);
    return [first ?? { model: azure_deployment, deployment: azure_deployment }, ...all.filter((one) => one !== first)];
  }
  if (all.length > 0) return all;
  return openai.models.flatMap(({ names }) => names.map((model) => ({ model, deployment: model })));
}

/** An address that ends in a version of the interface, `/openai/v1`, takes the deployment as the model of the request. */
function deploymentAddress({ endpoint, api_version }: Kept, deployment: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  if (/\/openai\/v\d+$/.test(path)) return url.href;
  url.pathname = path.includes('/openai/deployments/')
    ? `${path.replace(/\/chat\/completions$/, '')}/chat/completions`
    : `${path}/openai/deployments/${encodeURIComponent(deployment)}/chat/completions`;
  if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', api_version);
  return url.href;
}
