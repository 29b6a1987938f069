import { anthropic } from './anthropic.ts';
import { azure } from './azure.ts';
import { mistral } from './mistral.ts';
import { openai } from './openai.ts';
import type { ListedProvider } from './provider.ts';

/** Providers that can be connected by a token. All others, and any endpoint of the OpenAI chat protocol, are `custom` integrations. */
export const tokenProviders: readonly ListedProvider[] = [openai, anthropic, azure, mistral];

export function findTokenProvider(name: string): ListedProvider {
  const provider = tokenProviders.find((one) => one.name === name);
  if (!provider) throw new Error(`no provider is registered for ${name}`);
  return provider;
}
