import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { BodyFlag, documentedAs, orDefault } from '../wire/common.ts';
import { Headers, Url } from '../wire/integrations.ts';
import { mapOf } from '../wire/mapOf.ts';
import { addressConnection, keptAddressSettings, sentAddressSettings, toKeptAddressSettings } from './addressSettings.ts';
import { completionsUrl } from './chatCompletion.ts';
import { AttemptFailure } from './failures.ts';
import { openaiResponses, responsesUrl, speaksResponses } from './openaiResponses.ts';
import type { ModelSettings } from './parameters.ts';
import { passwordProblem } from './passwordGrant.ts';
import { type Deployment, sealedHeaders, tokenProvider } from './provider.ts';

const MAX_DEPLOYMENTS = 1_000;
const name = z.string().min(1).max(512);
const ModelDeployment = z.object({ model: name, id: name });
const tooMany = { error: `at most ${MAX_DEPLOYMENTS} deployments` };
const SentDeployments = mapOf(name, name).refine((map) => Object.keys(map).length <= MAX_DEPLOYMENTS, tooMany);
documentedAs.set(SentDeployments, z.record(name, name));

/** With `client_secret` and `custom_oauth2`, access tokens are asked for with client credentials, with `username_password` with those of a person. */
const AuthenticationType = z.enum(['api_key', 'client_secret', 'username_password', 'custom_oauth2']);

/** The scope of an access token of Microsoft Entra. */
const ENTRA_SCOPE = 'https://cognitiveservices.azure.com/.default';

const settings = {
  ...keptAddressSettings,
  authentication_type: AuthenticationType,
  endpoint: z.string(),
  proxy: z.boolean(),
  api_version: z.string(),
  azure_deployment: z.string().nullable(),
  available_deployments: z.array(ModelDeployment).nullable(),
};
/** `deployments` as a list, since the database does not keep the order of a map, and the first one is the default. */
const Stored = z.object({ ...settings, deployments: z.array(ModelDeployment) });
type Stored = z.output<typeof Stored>;
const Shown = z.object({ ...settings, deployments: z.record(z.string(), z.string()), default_headers: z.null() });

/** Models of OpenAI in a resource of the user's: https://learn.microsoft.com/azure/ai-services/openai/reference */
export const azure = tokenProvider({
  name: 'azure',
  label: 'Azure',
  sent: z.object({
    ...sentAddressSettings,
    authentication_type: orDefault(AuthenticationType, 'api_key'),
    endpoint: Url,
    proxy: BodyFlag(false),
    api_version: orDefault(
      z.string().regex(/^[\w.-]{1,64}$/, { error: 'must be a version such as 2025-03-01-preview' }),
      '2025-03-01-preview',
    ),
    azure_deployment: name.nullish(),
    default_headers: Headers.nullish(),
    deployments: orDefault(SentDeployments, {}),
    available_deployments: z.array(ModelDeployment).max(MAX_DEPLOYMENTS, tooMany).nullish(),
  }),
  stored: Stored,
  shown: Shown,
  toStored({ authentication_type, endpoint, proxy, api_version, deployments, ...sent }) {
    const problem = authentication_type === 'username_password' ? passwordProblem(sent.token) : undefined;
    if (problem !== undefined) throw new RequestInvalid([{ loc: ['body', 'token'], msg: problem, type: 'value_error' }]);
    const isOfEntra = authentication_type === 'client_secret' || authentication_type === 'username_password';
    const kept = toKeptAddressSettings(sent, {
      ...{ authenticationType: authentication_type, keyHeader: 'api-key', headers: sent.default_headers },
      tokenUrl: authentication_type === 'custom_oauth2' ? endpoint : null,
    });
    return {
      ...kept,
      authentication_scope: kept.authentication_scope ?? (isOfEntra ? ENTRA_SCOPE : null),
      ...{ authentication_type, endpoint, proxy, api_version },
      azure_deployment: sent.azure_deployment ?? null,
      deployments: Object.entries(deployments).map(([model, id]) => ({ model, id })),
      available_deployments: sent.available_deployments ?? null,
    };
  },
  toShown: ({ deployments, ...stored }) => ({
    ...stored,
    deployments: Object.fromEntries(deployments.map(({ model, id }) => [model, id])),
    default_headers: null,
  }),
  toSecrets: ({ token, default_headers: headers }) => ({ token, ...(headers && { headers: JSON.stringify(headers) }) }),
  addresses: ({ endpoint, oauth2_token_url }) => ({ endpoint, oauth2_token_url }),
  connect: (stored, secrets) => ({
    endpoint: stored.endpoint,
    ...(speaksResponses(stored.endpoint)
      ? { addressOf: () => responsesUrl(stored.endpoint), protocolOf: () => openaiResponses }
      : { addressOf: (deployment, run) => completionsUrl(addressOf(stored, deployment, run)) }),
    headers: sealedHeaders(secrets),
    ...addressConnection(stored, secrets, { kind: 'header', name: 'api-key', value: secrets.token ?? '' }),
  }),
  models: [],
  hosting: { modelsOf: 'openai', deployments: deploymentsOf, statesDefault: (stored) => stored.azure_deployment !== null },
});

/** A deployment that is a part of the endpoint. */
const IN_PATH = /\/openai\/deployments\/([^/]+)(?:\/chat\/completions)?$/;

const pathOf = (url: URL): string => url.pathname.replace(/\/+$/, '');

/** The first deployment of a model is called like the model, others of it by their own names. */
function deploymentsOf({ endpoint, proxy, azure_deployment, deployments, available_deployments }: Stored): Deployment[] {
  const models = new Map<string, string>();
  for (const { model, id } of [...deployments, ...(available_deployments ?? [])]) if (!models.has(id)) models.set(id, model);
  const inPath = proxy ? undefined : IN_PATH.exec(pathOf(new URL(endpoint)))?.[1];
  const only = inPath === undefined ? undefined : decoded(inPath);
  const first = only ?? azure_deployment;
  const ids = [...new Set([...(first === null ? [] : [first]), ...(only === undefined ? models.keys() : [])])];
  const called = new Set<string>();
  return ids.map((deployment) => {
    const model = models.get(deployment) ?? deployment;
    const alias = called.has(model) ? deployment : model;
    called.add(alias);
    return { alias, model, deployment };
  });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Where a deployment is asked. An address that ends in a version of the interface, `/openai/v1`, takes the deployment as the model of the request.
 * @throws AttemptFailure for a name that would lead to another path
 */
function addressOf(
  { endpoint, proxy, api_version }: Stored,
  named: string,
  { deployment_name, api_version: ofRun }: ModelSettings,
) {
  const url = new URL(endpoint);
  const path = pathOf(url);
  const isFixed = IN_PATH.test(path);
  if (proxy || (!isFixed && /\/(openai\/v\d+|chat\/completions)$/.test(path))) return url.href;
  const deployment = typeof deployment_name === 'string' && deployment_name !== '' ? deployment_name : named;
  if (/^\.{1,2}$/.test(deployment))
    throw new AttemptFailure('refused', `"${deployment}" is no name of a deployment`, { retry: false });
  url.pathname = isFixed
    ? `${path.replace(/\/chat\/completions$/, '')}/chat/completions`
    : `${path.replace(/\/openai(\/deployments)?$/, '')}/openai/deployments/${encodeURIComponent(deployment)}/chat/completions`;
  if (typeof ofRun === 'string' && ofRun !== '') url.searchParams.set('api-version', ofRun);
  else if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', api_version);
  return url.href;
}
