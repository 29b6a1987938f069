import { z } from 'zod';
import { tokenProviders } from '../providers/index.ts';
import { CustomSettings, settingsIdentity } from '../wire/integrations.ts';

/** Settings of a provider's integration without secrets, by `provider`. */
export const ProviderSettings = z.discriminatedUnion('provider', [
  CustomSettings,
  ...tokenProviders.map(({ name, shown }) => z.object({ ...settingsIdentity, provider: z.literal(name), ...shown.shape })),
]);
export type ProviderSettings = z.output<typeof ProviderSettings>;
