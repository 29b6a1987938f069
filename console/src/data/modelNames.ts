import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { IntegrationModels } from '../../../shared/wire/integrations.ts';
import { send } from './service.ts';

/** Names that settings may have as their model, of all integrations that the account sees, each once. */
export const modelNamesQuery = queryOptions({
  queryKey: ['model names'],
  staleTime: 60_000,
  queryFn: async ({ signal }) => {
    const all = Object.values(await send<z.output<typeof IntegrationModels>>('/llm_integrations', { signal }));
    return [...new Set(all.flatMap(({ models }) => models))];
  },
});
