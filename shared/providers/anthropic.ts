import { z } from 'zod';
import { orDefault } from '../wire/common.ts';
import { Url } from '../wire/integrations.ts';
import { addressConnection, keptAddressSettings, sentAddressSettings, toKeptAddressSettings } from './addressSettings.ts';
import { anthropicMessages } from './anthropicMessages.ts';
import { type ParameterMap, textImagesAndDocuments } from './modelFamily.ts';
import { type Authentication, bearer, endsInPath, protocolUrl, tokenProvider, withPath } from './provider.ts';

const AuthenticationType = z.enum(['api_key', 'custom_oauth2']);

const Kept = z.object({ ...keptAddressSettings, authentication_type: AuthenticationType, endpoint: z.string().nullable() });

/** https://docs.claude.com/en/api/messages */
const ENDPOINT = 'https://api.anthropic.com/v1';

const claude: ParameterMap = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  max_tokens: 'max_tokens',
  stop_sequences: 'stop',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
};
const claudeThinking: ParameterMap = { ...claude, reasoning_effort: 'reasoning_effort' };

// Since Opus 4.7 the sampling parameters are refused.
const { temperature: _t, top_p: _p, top_k: _k, ...claudeAdaptive } = claudeThinking;

/** A gateway may have these models in OpenAI's protocol alone: then its address says so. */
const speaksChat = (endpoint: string): boolean => endsInPath(endpoint, '/chat/completions');

export const anthropic = tokenProvider({
  name: 'anthropic',
  label: 'Anthropic',
  sent: z.object({
    ...sentAddressSettings,
    authentication_type: orDefault(AuthenticationType, 'api_key'),
    endpoint: Url.nullish(),
  }),
  stored: Kept,
  shown: Kept,
  toStored: ({ authentication_type, endpoint, ...sent }) => ({
    ...toKeptAddressSettings(sent, {
      ...{ authenticationType: authentication_type, tokenUrl: endpoint },
      keyHeader: endpoint != null && speaksChat(endpoint) ? 'authorization' : 'x-api-key',
    }),
    authentication_type,
    endpoint: endpoint ?? null,
  }),
  toShown: (stored) => stored,
  addresses: ({ endpoint, oauth2_token_url }) => ({ endpoint, oauth2_token_url }),
  connect(stored, secrets) {
    // Anthropic's own clients take an address without its version, `https://api.anthropic.com`.
    const endpoint = stored.endpoint === null ? ENDPOINT : withPath(stored.endpoint, '/v1');
    if (speaksChat(endpoint)) return { endpoint, headers: {}, ...addressConnection(stored, secrets, bearer(secrets)) };
    const key: Authentication = { kind: 'header', name: 'x-api-key', value: secrets.token ?? '' };
    return {
      endpoint,
      addressOf: () => protocolUrl(endpoint, '/messages'),
      protocolOf: () => anthropicMessages,
      headers: { 'anthropic-version': '2023-06-01' },
      ...addressConnection(stored, secrets, key),
    };
  },
  models: [
    {
      parameters: claudeAdaptive,
      modalities: textImagesAndDocuments,
      names: [
        ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-fable-5-2', 'claude-fable-5-1', 'claude-fable-5'],
        ...['claude-opus-5', 'claude-sonnet-5', 'claude-opus-4-8', 'claude-opus-4-7'],
      ],
    },
    {
      parameters: claudeThinking,
      modalities: textImagesAndDocuments,
      names: [
        ...[
          'claude-opus-4-6',
          'claude-sonnet-4-6',
          'claude-opus-4-5',
          'claude-opus-4-1',
          'claude-sonnet-4-5',
          'claude-haiku-4-5',
        ],
        ...['claude-opus-4-0', 'claude-sonnet-4-0', 'claude-3-7-sonnet-latest'],
      ],
      // Since version 4 the name of the family comes first, in the names that people use for older ones too.
      otherNames: {
        'claude-opus-4-0': ['claude-opus-4', 'Claude 4 Opus'],
        'claude-sonnet-4-0': ['claude-sonnet-4', 'Claude 4 Sonnet'],
        'claude-3-7-sonnet-latest': ['Claude Sonnet 3.7'],
      },
    },
    {
      parameters: claude,
      modalities: textImagesAndDocuments,
      names: ['claude-3-5-sonnet-latest', 'claude-3-5-haiku-latest'],
      otherNames: {
        'claude-3-5-sonnet-latest': ['Claude Sonnet 3.5'],
        'claude-3-5-haiku-latest': ['Claude Haiku 3.5'],
      },
    },
  ],
});
