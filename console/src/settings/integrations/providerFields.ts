import type { Provider, ProviderSettings } from '../../data/integrations.ts';

/** Texts of the fields of a form, by the path of each in the settings. */
export type Values = Readonly<Record<string, string>>;

export interface FieldOfProvider {
  /** Its path in the settings, such as `multi_modal_config.max_files`. */
  path: string;
  label: string;
  kind: 'text' | 'number' | 'choice' | 'flag' | 'map' | 'json';
  /** Write-only: never shown, never kept by the browser. */
  isSecret?: true;
  options?: readonly (readonly [value: string, label: string])[];
  hint?: string;
  isRequired?: boolean;
  /** Returns whether these settings have the field. */
  isShown?(values: Values): boolean;
  /** Seldom needed. */
  isMore?: true;
}

export const providerLabels: Partial<Record<Provider, string>> = {
  custom: 'Endpoint of your own',
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  azure: 'Azure OpenAI',
  aws_bedrock: 'AWS Bedrock',
  mistral: 'Mistral',
  vertex_ai: 'Google Vertex AI',
  databricks: 'Databricks',
  nvidia: 'NVIDIA',
  writer: 'Writer',
  aws_sagemaker: 'AWS SageMaker',
  vegas_gateway: 'Vegas Gateway',
};

const isAuthentication =
  (...types: string[]) =>
  ({ authentication_type }: Values) =>
    types.includes(authentication_type ?? '');

const token: FieldOfProvider = {
  path: 'token',
  label: 'Key',
  kind: 'text',
  isSecret: true,
  isRequired: true,
  hint: 'Each save needs it.',
};
const endpoint: FieldOfProvider = { path: 'endpoint', label: 'Address', kind: 'text', isRequired: true };

const tokenAddress = (...types: string[]): FieldOfProvider[] => [
  {
    path: 'oauth2_token_url',
    label: 'Address for access tokens',
    kind: 'text',
    isShown: isAuthentication(...types),
    hint: 'Without it, the address of the models.',
  },
  { path: 'authentication_scope', label: 'Scope', kind: 'text', isShown: isAuthentication(...types) },
];

const files: FieldOfProvider[] = [
  { path: 'multi_modal_config.max_files', label: 'Files in a call, at most', kind: 'number', isMore: true },
  { path: 'multi_modal_config.max_file_size_bytes', label: 'Bytes of a file, at most', kind: 'number', isMore: true },
];

const more: FieldOfProvider[] = [
  ...files,
  ...(['job_id', 'user_id', 'project_id', 'run_id'] as const).map(
    (name): FieldOfProvider => ({
      path: `custom_header_mapping.${name}`,
      label: `Header that carries ${name}`,
      kind: 'text',
      isMore: true,
    }),
  ),
];

const isOfRole = ({ credential_type }: Values) => credential_type === 'assumed_role';

const ofAws: FieldOfProvider[] = [
  { path: 'region', label: 'Region', kind: 'text', hint: 'Without it, us-west-2.' },
  { ...token, path: 'token.aws_access_key_id', label: 'Access key id' },
  { ...token, path: 'token.aws_secret_access_key', label: 'Secret access key' },
  { ...token, path: 'token.aws_session_token', label: 'Session token', isRequired: false, hint: 'Of temporary credentials.' },
  {
    path: 'credential_type',
    label: 'Calls are made as',
    kind: 'choice',
    options: [
      ['key_secret', 'the key'],
      ['assumed_role', 'a role that the key assumes'],
    ],
  },
  { ...token, path: 'token.aws_role_arn', label: 'ARN of the role', isShown: isOfRole },
  {
    ...{ ...token, path: 'token.aws_external_id', label: 'External id', isRequired: false, isShown: isOfRole },
    hint: 'Where the role asks for one. Each save needs it.',
  },
  {
    ...{ ...endpoint, path: 'sts_endpoint', label: 'Address of the token service', isShown: isOfRole },
    ...{ isRequired: false, isMore: true, hint: 'Only of a VPC endpoint of your own.' },
  },
  { ...endpoint, isRequired: false, isMore: true, hint: 'Only of a VPC endpoint or a gateway of your own.' },
  ...files,
];

const custom: readonly FieldOfProvider[] = [
  { ...endpoint, hint: 'It speaks the OpenAI chat protocol, for example http://127.0.0.1:11434/v1.' },
  {
    path: 'authentication_type',
    label: 'Authentication',
    kind: 'choice',
    options: [
      ['none', 'none'],
      ['api_key', 'a key in a header'],
      ['oauth2', 'access tokens (OAuth 2)'],
    ],
  },
  { path: 'api_key_header', label: 'Header of the key', kind: 'text', isRequired: true, isShown: isAuthentication('api_key') },
  {
    path: 'api_key_value',
    label: 'Key',
    kind: 'text',
    isSecret: true,
    isRequired: true,
    isShown: isAuthentication('api_key'),
    hint: 'Sent as it stands. Each save needs it.',
  },
  {
    path: 'token',
    label: 'Client credentials',
    kind: 'text',
    isSecret: true,
    isShown: isAuthentication('oauth2'),
    hint: 'client_id:client_secret. What is stored stays where you leave it empty and change no address.',
  },
  ...tokenAddress('oauth2'),
  { path: 'default_model', label: 'Default model', kind: 'text', hint: 'Without it, the first.' },
  {
    path: 'headers',
    label: 'Further headers',
    kind: 'map',
    isSecret: true,
    isMore: true,
    hint: 'One a line: Name: value. What is stored stays where you leave it empty.',
  },
  { path: 'custom_llm_config.file_name', label: 'File of a handler class', kind: 'text', isMore: true },
  { path: 'custom_llm_config.class_name', label: 'Handler class', kind: 'text', isMore: true },
  {
    path: 'custom_llm_config.init_kwargs',
    label: 'Arguments of the handler class',
    kind: 'json',
    isSecret: true,
    isMore: true,
    hint: 'A JSON object. What is stored stays where you leave it empty and change no address.',
  },
  ...more,
];

const byProvider: Partial<Record<Provider, readonly FieldOfProvider[]>> = {
  custom,
  openai: [token, { path: 'organization_id', label: 'Organization', kind: 'text' }],
  mistral: [token],
  anthropic: [
    {
      path: 'authentication_type',
      label: 'Authentication',
      kind: 'choice',
      options: [
        ['api_key', 'a key'],
        ['custom_oauth2', 'access tokens (OAuth 2)'],
      ],
    },
    { ...token, label: 'Key or client credentials' },
    { ...endpoint, isRequired: false, hint: 'Only of a gateway of your own.' },
    ...tokenAddress('custom_oauth2'),
    ...more,
  ],
  azure: [
    { ...endpoint, hint: 'Of your resource, for example https://name.openai.azure.com.' },
    {
      path: 'authentication_type',
      label: 'Authentication',
      kind: 'choice',
      options: [
        ['api_key', 'a key'],
        ['client_secret', 'an application of Microsoft Entra'],
        ['custom_oauth2', 'access tokens (OAuth 2)'],
      ],
    },
    { ...token, label: 'Key or client credentials' },
    ...tokenAddress('client_secret', 'custom_oauth2'),
    { path: 'deployments', label: 'Deployments', kind: 'map', hint: 'One a line: model: deployment.' },
    { path: 'azure_deployment', label: 'Default deployment', kind: 'text' },
    { path: 'api_version', label: 'API version', kind: 'text', isMore: true },
    { path: 'proxy', label: 'The address is that of a proxy', kind: 'flag', isMore: true },
    {
      path: 'default_headers',
      label: 'Further headers',
      kind: 'map',
      isSecret: true,
      isMore: true,
      hint: 'One a line: Name: value. Each save needs them.',
    },
    ...more,
  ],
  aws_bedrock: [
    ...ofAws,
    { path: 'inference_profiles', label: 'Inference profiles', kind: 'map', hint: 'One a line: model: profile.' },
  ],
  aws_sagemaker: ofAws,
  databricks: [
    { ...endpoint, path: 'hostname', hint: 'Of your workspace, for example https://adb-1.azuredatabricks.net.' },
    { ...token, label: 'Token or client credentials' },
  ],
  nvidia: [{ ...endpoint, path: 'hostname', hint: 'https://integrate.api.nvidia.com, or a container of your own.' }, token],
  writer: [
    token,
    { path: 'organization_id', label: 'Organization', kind: 'text', isRequired: true },
    { ...endpoint, isRequired: false, isMore: true, hint: 'Only of a gateway of your own.' },
  ],
  vegas_gateway: [endpoint, token, { path: 'use_case', label: 'Use case', kind: 'text', isRequired: true }, ...files],
  vertex_ai: [
    { ...token, label: 'Key of a service account', hint: 'The text of its JSON file. Each save needs it.' },
    { path: 'location', label: 'Location', kind: 'text', hint: 'Without it, global.' },
    { path: 'project_id', label: 'Project', kind: 'text', hint: 'Without it, that of the key.' },
    { ...endpoint, isRequired: false, isMore: true, hint: 'Only of a gateway of your own.' },
    ...files,
    {
      path: 'gcs_config.bucket_name',
      label: 'Bucket for files',
      kind: 'text',
      isMore: true,
      hint: 'Gemini fetches the files of a call from it. Without it, the call holds them.',
    },
    { path: 'gcs_config.object_path_prefix', label: 'Names of its objects begin with', kind: 'text', isMore: true },
    {
      path: 'gcs_config.endpoint',
      label: 'Address of its storage',
      kind: 'text',
      isMore: true,
      hint: 'Only of a gateway of your own.',
    },
    {
      path: 'gcs_config.service_account_credentials',
      label: 'Key of an account that may write to the bucket',
      kind: 'text',
      isSecret: true,
      isMore: true,
      hint: 'The text of its JSON file. Each save needs it.',
    },
  ],
};

/** The fields that an integration of the provider has with these values. */
export const fieldsOf = (provider: Provider, values: Values): FieldOfProvider[] =>
  (byProvider[provider] ?? [token]).filter(({ isShown }) => isShown?.(values) ?? true);

/** Fills the form in from stored settings, or for a new integration. */
export function valuesOf(provider: Provider, settings: ProviderSettings | undefined): Values {
  const fields = byProvider[provider] ?? [token];
  return Object.fromEntries(
    fields
      .filter(({ isSecret }) => !isSecret)
      .map(({ path, options }) => [path, textOf(at(settings, path.split('.'))) ?? options?.[0]?.[0] ?? '']),
  );
}

/** The settings as they are sent. What no field shows stays as it is stored. */
export function settingsFrom(provider: Provider, values: Values, secrets: Values, stored: ProviderSettings | undefined): object {
  const body: Record<string, unknown> = {};
  if (stored?.available_deployments) body.available_deployments = stored.available_deployments;
  if (provider === 'aws_sagemaker' && stored && 'models' in stored) body.models = stored.models;
  for (const { path, kind, isSecret } of fieldsOf(provider, values)) {
    const text = (isSecret ? secrets : values)[path] ?? '';
    if (text.trim() !== '') put(body, path.split('.'), sentOf(kind, text));
  }
  return body;
}

function sentOf(kind: FieldOfProvider['kind'], text: string): unknown {
  if (kind === 'number') return Number(text);
  if (kind === 'json') return jsonOrText(text);
  if (kind === 'flag') return text === 'true';
  if (kind !== 'map') return text.trim();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  // Ids of models hold colons without a space.
  return Object.fromEntries(lines.map((line) => splitAt(line, /:\s/.exec(line)?.index ?? line.indexOf(':'))));
}

/** Parses JSON. A text that is none is sent as it is: the service says at its field what it must be. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const splitAt = (line: string, colon: number): [string, string] =>
  colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object') return value === false ? '' : String(value);
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${one}`)
    .join('\n');
}

const at = (value: unknown, [first, ...rest]: string[]): unknown =>
  first === undefined ? value : at((value as Record<string, unknown> | null | undefined)?.[first], rest);

function put(into: Record<string, unknown>, [first = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    into[first] = value;
    return;
  }
  const inner = (into[first] ?? {}) as Record<string, unknown>;
  into[first] = inner;
  put(inner, rest, value);
}
