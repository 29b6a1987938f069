import { z } from 'zod';
import { BodyFlag } from '../wire/common.ts';
import { ProviderToken, TokenOrCredentials, Url } from '../wire/integrations.ts';
import { type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider, withPath } from './provider.ts';

const parameters: ParameterMap = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  top_p: 'top_p',
  n: 'n',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
};
const reasoning: ParameterMap = { ...parameters, reasoning_effort: 'reasoning_effort' };

/** A token of a person has no colon; client credentials of a service principal do, in each of their forms but base64. */
const areCredentials = (token: string): boolean => token.includes(':');

const Token = TokenOrCredentials.superRefine((token, context) => {
  if (areCredentials(token)) return;
  for (const { message } of ProviderToken.safeParse(token).error?.issues ?? []) context.addIssue({ code: 'custom', message });
});

/** Stored settings. The fields of tables are only shown to callers. Former releases stored the address alone. */
const Kept = z.object({
  hostname: z.string(),
  default_catalog_name: z.string().nullable().default(null),
  path: z.string().nullable().default(null),
  /** True when its serving endpoints are models, and its tables are used. */
  llm: z.boolean().default(true),
  storage: z.boolean().default(false),
});

/** Serving endpoints of a workspace: https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models */
export const databricks = tokenProvider({
  name: 'databricks',
  label: 'Databricks',
  sent: z.object({
    token: Token,
    hostname: Url,
    default_catalog_name: z.string().nullish(),
    path: z.string().nullish(),
    llm: BodyFlag(false),
    storage: BodyFlag(false),
  }),
  stored: Kept,
  shown: Kept,
  toStored: ({ hostname, default_catalog_name, path, storage }) => ({
    ...{ hostname, default_catalog_name: default_catalog_name ?? null, path: path ?? null, storage },
    llm: true,
  }),
  toShown: (stored) => stored,
  hasModels: ({ llm }) => llm,
  addresses: ({ hostname }) => ({ hostname }),
  connect({ hostname }, secrets) {
    const connection = bearerConnection(withPath(hostname, '/serving-endpoints'), secrets);
    const { token = '' } = secrets;
    if (!areCredentials(token)) return connection;
    const tokenUrl = new URL('/oidc/v1/token', hostname).href;
    return { ...connection, authentication: { kind: 'oauth2', tokenUrl, scope: 'all-apis', credentials: token } };
  },
  models: [
    {
      parameters,
      modalities: textAndImages,
      names: [
        ...['databricks-claude-sonnet-4-5', 'databricks-claude-opus-4-5', 'databricks-claude-haiku-4-5'],
        ...['databricks-claude-opus-4-1', 'databricks-claude-sonnet-4', 'databricks-claude-3-7-sonnet'],
        ...['databricks-gemini-2-5-pro', 'databricks-gemini-2-5-flash', 'databricks-llama-4-maverick', 'databricks-gemma-3-12b'],
      ],
    },
    {
      parameters: reasoning,
      modalities: textAndImages,
      names: ['databricks-gpt-5-1', 'databricks-gpt-5', 'databricks-gpt-5-mini', 'databricks-gpt-5-nano'],
    },
    { parameters: reasoning, modalities: textOnly, names: ['databricks-gpt-oss-120b', 'databricks-gpt-oss-20b'] },
    {
      parameters,
      modalities: textOnly,
      names: [
        ...['databricks-meta-llama-3-3-70b-instruct', 'databricks-meta-llama-3-1-8b-instruct'],
        'databricks-qwen3-next-80b-a3b-instruct',
      ],
    },
  ],
});
