import { z } from 'zod';
import { type IntegrationProvider, ProviderToken } from '../wire/integrations.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { AttemptFailure } from './failures.ts';
import type { FileBucket } from './fileBucket.ts';
import type { ModelFamily } from './modelFamily.ts';
import type { ModelSettings } from './parameters.ts';

/** The secrets that an integration may have. */
export const secretFields = ['token', 'apiKeyValue', 'headers', 'initKwargs', 'bucketToken'] as const;
/** `headers` and `initKwargs` are sealed as JSON text. */
export type SecretField = (typeof secretFields)[number];
export type Secrets = Partial<Record<SecretField, string>>;

/** The identifiers of the row a call belongs to. */
export interface CallContext {
  jobId?: string | null;
  userId?: string | null;
  projectId?: string | null;
  runId?: string | null;
}

/** How a call proves who it is. Header values are sent as they stand. */
export type Authentication =
  | { kind: 'none' }
  | { kind: 'header'; name: string; value: string }
  /** Each request is signed (AWS Signature Version 4), with `stsUrl` by a role that the credentials assume there. @see awsAuthentication.ts */
  | { kind: 'aws'; service: string; region: string; credentials: string; stsUrl?: string }
  | {
      kind: 'oauth2';
      grant?: 'service_account' | 'password';
      tokenUrl: string;
      scope: string | null;
      credentials: string | null;
    };

/** Everything needed to reach the models of one integration, secrets opened. */
export interface Connection {
  /** Base URL of the OpenAI chat protocol, or the full address when its path ends in `/chat/completions`. */
  endpoint: string;
  /** The full address of a model, where each has one of its own. @throws AttemptFailure for a name that leads nowhere */
  addressOf?(model: string, settings: ModelSettings, isStreamed: boolean): string;
  /** The protocol in which a model is asked, where it is not OpenAI's chat protocol. */
  protocolOf?(model: string): ChatProtocol | undefined;
  authentication: Authentication;
  /** The bucket from which a model fetches the files of a request, where there is one: else the request holds them. */
  bucketOf?(model: string): FileBucket | undefined;
  headers: Readonly<Record<string, string>>;
  /** Header names that carry fields of the context. */
  contextHeaders: Readonly<Partial<Record<keyof CallContext, string>>>;
  handler: { fileName: string; className: string; initKwargs: Record<string, unknown> } | null;
  fileLimits: { maxFiles: number | null; maxFileSizeBytes: number | null } | null;
  /** True where the server may be one that says how probable the tokens of a prompt are, as vLLM does. */
  mayRatePrompts?: true;
}

type Settings = Record<string, unknown>;

/** A model that a user has set up at a provider. */
export interface Deployment {
  /** Name in run settings. */
  alias: string;
  /** The model, which decides about parameters and prices. */
  model: string;
  /** Name at the provider. */
  deployment: string;
}

/** How a provider hosts the models of another one. */
export interface Hosting<Stored> {
  /** The provider whose models these are. Where no deployment is listed, each may be there under its own name. */
  modelsOf: IntegrationProvider;
  /** The first is the default. */
  deployments(stored: Stored): readonly Deployment[];
  /** True when the default was named, false when it is only the first. */
  statesDefault(stored: Stored): boolean;
}

/** A provider that is connected by a token, and maybe by settings. One file each, listed in `index.ts`. */
export interface TokenProvider<Stored = Settings, Sent = Settings, Shown = Settings> {
  name: Exclude<IntegrationProvider, 'custom'>;
  /** Name for people. */
  label: string;
  /** Schema of the fields that a request sends beside the token. */
  sent: z.ZodType<Sent> & z.ZodObject;
  /** Schema of the fields that are stored. */
  stored: z.ZodType<Stored> & z.ZodObject;
  /** Schema of the fields that answers show. */
  shown: z.ZodType<Shown> & z.ZodObject;
  /** @throws RequestInvalid when settings do not go together */
  toStored(sent: Sent & { token: string }): Stored;
  toShown(stored: Stored): Shown;
  /** Returns the secrets of a request, which are sealed. Absent: the token alone. */
  toSecrets?(sent: Sent & { token: string }): Secrets;
  /** Addresses that a user has named, by the field of the request. None of them may be one that is not to be reached. */
  addresses?(stored: Stored): Readonly<Record<string, string | null>>;
  connect(stored: Stored, secrets: Secrets): Connection;
  /** False where it is connected for something else than its models. */
  hasModels?(stored: Stored): boolean;
  /** The first is its default. */
  models: readonly ModelFamily[];
  /** Where users set the models up themselves. */
  hosting?: Hosting<Stored>;
  /** The maker of further models that may be there under their own names, after those of every integration that lists them. */
  alsoHosts?: IntegrationProvider;
}

export const bearer = ({ token = '' }: Secrets): Authentication => ({
  kind: 'header',
  name: 'authorization',
  value: `Bearer ${token}`,
});

/** Headers by the names of the context's fields, from those by the names of requests. */
export const contextHeadersOf = (mapping: Readonly<Record<string, string>> | null): Connection['contextHeaders'] => ({
  ...(mapping?.job_id && { jobId: mapping.job_id }),
  ...(mapping?.user_id && { userId: mapping.user_id }),
  ...(mapping?.project_id && { projectId: mapping.project_id }),
  ...(mapping?.run_id && { runId: mapping.run_id }),
});

const HeadersJson = z.record(z.string(), z.string());

/** Headers of the user's that are kept as a secret. */
export const sealedHeaders = ({ headers = '{}' }: Secrets): Connection['headers'] => HeadersJson.parse(JSON.parse(headers));

/** An address of which users say only the host, with the path that its interface is at; one with a path is taken as it is. */
export function withPath(address: string, path: string): string {
  const url = new URL(address);
  if (/^\/+$/.test(url.pathname)) url.pathname = path;
  return url.href;
}

/** True of an address that ends in the path of a protocol, such as `/responses`: it is wholly said. */
export const endsInPath = (address: string, path: string): boolean =>
  new URL(address).pathname.replace(/\/+$/, '').endsWith(path);

/** The path of a protocol below a base URL. An address that ends in it is taken as it is. */
export function protocolUrl(address: string, path: string): string {
  const url = new URL(address);
  url.pathname = url.pathname.replace(/\/+$/, '') + (endsInPath(address, path) ? '' : path);
  return url.href;
}

/** An address below a base URL, whose query stays. @throws AttemptFailure for a part that would lead to another path */
export function modelPath(base: string, parts: readonly string[]): string {
  const wrong = parts.find((part) => /^\.{0,2}$/.test(part));
  if (wrong !== undefined) throw new AttemptFailure('refused', `"${wrong}" is no name of a model`, { retry: false });
  const url = new URL(base);
  url.pathname = [url.pathname.replace(/\/+$/, ''), ...parts.map(encodeURIComponent)].join('/');
  return url.href;
}

/** How a provider is reached that has a fixed address and takes its token as a bearer. */
export const bearerConnection = (endpoint: string, secrets: Secrets, headers: Connection['headers'] = {}): Connection => ({
  endpoint,
  authentication: bearer(secrets),
  headers,
  contextHeaders: {},
  handler: null,
  fileLimits: null,
});

/** One of the list of providers, with the schema of the request that connects it. */
export interface ListedProvider extends TokenProvider {
  request: z.ZodType<Settings & { token: string }> & z.ZodObject;
}

/** Its types are checked here; who uses the list of providers sees its settings as plain objects. */
export function tokenProvider<Stored extends Settings, Sent extends Settings, Shown extends Settings>(
  provider: TokenProvider<Stored, Sent, Shown>,
): ListedProvider {
  const { label, sent } = provider;
  const request = z.object({ ...sent.shape, token: sent.shape.token ?? ProviderToken }).meta({ id: `${label}IntegrationCreate` });
  return { ...provider, request } as unknown as ListedProvider;
}
