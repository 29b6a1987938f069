import type { Provider } from './provider.ts';

/** https://platform.openai.com/docs/api-reference/authentication */
export const openai: Provider<'openai'> = {
  name: 'openai',
  connect: ({ organizationId }, { token = '' }) => ({
    endpoint: 'https://api.openai.com/v1',
    authentication: { kind: 'header', name: 'authorization', value: `Bearer ${token}` },
    headers: organizationId ? { 'openai-organization': organizationId } : {},
    contextHeaders: {},
    handler: null,
    fileLimits: null,
  }),
};
