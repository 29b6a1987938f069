import { z } from 'zod';
import { Url } from '../wire/integrations.ts';
import { type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider } from './provider.ts';

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

const Kept = z.object({ organization_id: z.string(), endpoint: z.string().nullable() });

/** It speaks OpenAI's protocol, at an address of its own: https://dev.writer.com/api-reference/completion-api/chat-completion */
export const writer = tokenProvider({
  name: 'writer',
  label: 'Writer',
  sent: z.object({ organization_id: z.string().min(1).max(512), endpoint: Url.nullish() }),
  stored: Kept,
  shown: Kept,
  toStored: ({ organization_id, endpoint }) => ({ organization_id, endpoint: endpoint ?? null }),
  toShown: (stored) => stored,
  addresses: ({ endpoint }) => ({ endpoint }),
  connect({ endpoint }, secrets) {
    const address = endpoint ?? 'https://api.writer.com/v1/chat';
    return { ...bearerConnection(address, secrets), addressOf: () => address };
  },
  models: [
    { parameters, modalities: textAndImages, names: ['palmyra-x5'] },
    { parameters, modalities: textOnly, names: ['palmyra-x4'] },
  ],
});
