import { z } from 'zod';
import { chat, textAndImages, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider } from './provider.ts';

/** https://docs.mistral.ai/api: the chat endpoint speaks the OpenAI protocol. */
export const mistral = tokenProvider({
  name: 'mistral',
  label: 'Mistral',
  sent: z.object({}),
  stored: z.object({}),
  shown: z.object({}),
  toStored: () => ({}),
  toShown: () => ({}),
  connect: (_stored, secrets) => bearerConnection('https://api.mistral.ai/v1', secrets),
  models: [
    { parameters: chat, modalities: textOnly, names: ['mistral-large-latest', 'mistral-small-latest', 'codestral-latest'] },
    { parameters: chat, modalities: textOnly, names: ['devstral-medium-latest', 'ministral-8b-latest', 'ministral-3b-latest'] },
    { parameters: chat, modalities: textOnly, names: ['magistral-medium-latest', 'magistral-small-latest'] },
    { parameters: chat, modalities: textAndImages, names: ['mistral-medium-latest', 'pixtral-large-latest'] },
  ],
});
