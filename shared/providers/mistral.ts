import { z } from 'zod';
import { chat, type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider } from './provider.ts';

const mistralChat: ParameterMap = { ...chat, seed: 'random_seed' };

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
    {
      parameters: mistralChat,
      modalities: textOnly,
      names: [
        ...['mistral-large-latest', 'mistral-small-latest', 'codestral-latest', 'devstral-latest', 'devstral-medium-latest'],
        ...['ministral-14b-latest', 'ministral-8b-latest', 'ministral-3b-latest'],
      ],
      otherNames: {
        'mistral-large-latest': ['Mistral Large 3'],
        'mistral-small-latest': ['Mistral Small 4'],
        'devstral-latest': ['Devstral 2'],
        'ministral-14b-latest': ['Ministral 3 14B'],
        'ministral-8b-latest': ['Ministral 3 8B'],
        'ministral-3b-latest': ['Ministral 3 3B'],
      },
    },
    { parameters: mistralChat, modalities: textOnly, names: ['magistral-medium-latest', 'magistral-small-latest'] },
    {
      parameters: mistralChat,
      modalities: textAndImages,
      names: ['mistral-medium-latest', 'mistral-medium-3-5', 'pixtral-large-latest'],
    },
  ],
});
