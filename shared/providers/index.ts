import { anthropic } from './anthropic.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { databricks } from './databricks.ts';
import { mistral } from './mistral.ts';
import { nvidia } from './nvidia.ts';
import { openai } from './openai.ts';
import type { ListedProvider } from './provider.ts';
import { sagemaker } from './sagemaker.ts';
import { vegasGateway } from './vegasGateway.ts';
import { vertexAi } from './vertexAi.ts';
import { writer } from './writer.ts';

/** Providers that can be connected by a token. All others, and any endpoint of the OpenAI chat protocol, are `custom` integrations. */
export const tokenProviders: readonly ListedProvider[] = [
  openai,
  anthropic,
  azure,
  mistral,
  bedrock,
  vertexAi,
  databricks,
  nvidia,
  writer,
  sagemaker,
  vegasGateway,
];

export function findTokenProvider(name: string): ListedProvider {
  const provider = tokenProviders.find((one) => one.name === name);
  if (!provider) throw new Error(`no provider is registered for ${name}`);
  return provider;
}
