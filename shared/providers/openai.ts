import { z } from 'zod';
import { HeaderValue } from '../wire/integrations.ts';
import { completionsUrl } from './chatCompletion.ts';
import { chat, type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { openaiResponses, responsesUrl } from './openaiResponses.ts';
import { bearerConnection, tokenProvider } from './provider.ts';

// Reasoning models refuse sampling parameters (https://platform.openai.com/docs/guides/reasoning).
const instant: ParameterMap = {
  max_tokens: 'max_completion_tokens',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
};
const reasoning: ParameterMap = { ...instant, reasoning_effort: 'reasoning_effort' };
const gpt5: ParameterMap = { ...reasoning, verbosity: 'verbosity' };

const ENDPOINT = 'https://api.openai.com/v1';

/** Models that chat completions do not have: https://platform.openai.com/docs/models */
const hasResponsesAlone = (model: string): boolean => /^(?:o\d|gpt-\d[\d.]*)-(?:pro|codex)\b/.test(model);

/** https://platform.openai.com/docs/api-reference/authentication */
export const openai = tokenProvider({
  name: 'openai',
  label: 'OpenAI',
  sent: z.object({ organization_id: HeaderValue.nullish() }),
  stored: z.object({ organizationId: z.string().nullable() }),
  shown: z.object({ organization_id: z.string().nullable() }),
  toStored: ({ organization_id }) => ({ organizationId: organization_id ?? null }),
  toShown: ({ organizationId }) => ({ organization_id: organizationId }),
  connect: ({ organizationId }, secrets) => ({
    ...bearerConnection(ENDPOINT, secrets, organizationId ? { 'openai-organization': organizationId } : {}),
    addressOf: (model) => (hasResponsesAlone(model) ? responsesUrl(ENDPOINT) : completionsUrl(ENDPOINT)),
    protocolOf: (model) => (hasResponsesAlone(model) ? openaiResponses : undefined),
  }),
  models: [
    { parameters: gpt5, modalities: textAndImages, names: ['gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano'] },
    { parameters: gpt5, modalities: textAndImages, names: ['gpt-6.1-sol', 'gpt-6-astra', 'gpt-6-sol', 'gpt-6-luna'] },
    {
      parameters: gpt5,
      modalities: textAndImages,
      names: ['gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-5.5', 'gpt-5.2'],
      otherNames: { 'gpt-5.6-sol': ['gpt-5.6'] },
    },
    {
      parameters: instant,
      modalities: textAndImages,
      names: ['gpt-5.3-chat-latest'],
      otherNames: { 'gpt-5.3-chat-latest': ['gpt-5.3'] },
    },
    { parameters: gpt5, modalities: textAndImages, names: ['gpt-5.4', 'gpt-5.4-mini', 'gpt-5.4-nano'] },
    { parameters: reasoning, modalities: textAndImages, names: ['o1', 'o3', 'o4-mini'] },
    { parameters: reasoning, modalities: textOnly, names: ['o3-mini'] },
    {
      parameters: chat,
      modalities: textAndImages,
      names: ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano', 'gpt-4o', 'gpt-4o-mini', 'gpt-4-turbo'],
    },
    { parameters: chat, modalities: textOnly, names: ['gpt-4', 'gpt-3.5-turbo'] },
    {
      parameters: gpt5,
      modalities: textAndImages,
      names: [
        ...['gpt-5.5-pro', 'gpt-5.4-pro', 'gpt-5.2-pro', 'gpt-5-pro'],
        ...[
          'gpt-5.5-codex',
          'gpt-5.3-codex',
          'gpt-5.2-codex',
          'gpt-5.1-codex',
          'gpt-5.1-codex-max',
          'gpt-5.1-codex-mini',
          'gpt-5-codex',
        ],
      ],
    },
    { parameters: reasoning, modalities: textAndImages, names: ['o3-pro', 'o1-pro'] },
  ],
});
