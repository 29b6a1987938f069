import type { Provider } from './provider.ts';

/** https://docs.mistral.ai/api: the chat endpoint speaks the OpenAI protocol. */
export const mistral: Provider<'mistral'> = {
  name: 'mistral',
  connect: (_config, { token = '' }) => ({
    endpoint: 'https://api.mistral.ai/v1',
    authentication: { kind: 'header', name: 'authorization', value: `Bearer ${token}` },
    headers: {},
    contextHeaders: {},
    handler: null,
    fileLimits: null,
  }),
};
