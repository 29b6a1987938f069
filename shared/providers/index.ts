import type { Integration, Secrets } from '../integrations/integration.ts';
import { custom } from './custom.ts';
import { mistral } from './mistral.ts';
import { openai } from './openai.ts';
import type { Connection, Provider } from './provider.ts';

export const providers: readonly Provider[] = [custom, openai, mistral] as readonly Provider[];

/** How to reach the models of a stored integration. */
export function connectionOf(integration: Integration, secrets: Secrets): Connection {
  const provider = providers.find((one) => one.name === integration.provider);
  if (!provider) throw new Error(`no provider is registered for ${integration.provider}`);
  return provider.connect(integration.config as never, secrets);
}
