import { z } from 'zod';
import { HeaderValue, MultiModalConfig, ShownMultiModalConfig, Url } from '../wire/integrations.ts';
import { fileLimitsOf, keptFileLimits } from './addressSettings.ts';
import { bearerConnection, tokenProvider, withPath } from './provider.ts';

const Kept = z.object({
  endpoint: z.string(),
  use_case: z.string(),
  multi_modal_config: ShownMultiModalConfig.nullable(),
});

/**
 * A gateway at an address of the user's own. Its protocol is not published: the service calls it by OpenAI's chat protocol, as most gateways take it,
 * and names the use case in a header.
 */
export const vegasGateway = tokenProvider({
  name: 'vegas_gateway',
  label: 'VegasGateway',
  sent: z.object({
    endpoint: Url,
    use_case: HeaderValue.min(1).max(512),
    multi_modal_config: MultiModalConfig.nullish(),
  }),
  stored: Kept,
  shown: Kept,
  toStored: ({ endpoint, use_case, multi_modal_config }) => ({
    ...{ endpoint, use_case },
    multi_modal_config: keptFileLimits(multi_modal_config),
  }),
  toShown: (stored) => stored,
  addresses: ({ endpoint }) => ({ endpoint }),
  connect: ({ endpoint, use_case, multi_modal_config }, secrets) => ({
    ...bearerConnection(withPath(endpoint, '/v1'), secrets, { 'x-use-case': use_case }),
    fileLimits: fileLimitsOf(multi_modal_config),
  }),
  models: [],
  // It lists none: those of OpenAI may be there under their own names.
  hosting: { modelsOf: 'openai', deployments: () => [], statesDefault: () => false },
});
