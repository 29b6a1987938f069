import type { Integration } from '../integrations/integration.ts';
import { findBuiltinModel } from '../providers/builtinModels.ts';
import { type CallableModel, modelsOf } from './models.ts';

/**
 * Models that judge well for what they cost, by the provider that has them, the first one first: those of middle size that take a JSON schema for their
 * answer, and the smaller one beside them. What providers and their users report of November 2026, not figures of ours.
 */
export const recommendedJudges: Readonly<Record<string, readonly string[]>> = {
  openai: ['gpt-5-mini', 'gpt-4.1-mini', 'gpt-5.1'],
  anthropic: ['claude-sonnet-4-5', 'claude-haiku-4-5'],
  mistral: ['mistral-medium-latest', 'mistral-large-latest'],
  vertex_ai: ['gemini-2.5-flash', 'gemini-2.5-pro'],
  aws_bedrock: ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-pro-v1:0'],
  databricks: ['databricks-claude-sonnet-4-5', 'databricks-gpt-5-mini'],
  nvidia: ['nvidia/llama-3.3-nemotron-super-49b-v1.5', 'openai/gpt-oss-120b'],
  writer: ['palmyra-x5'],
};

const allJudges = Object.values(recommendedJudges).flat();

/** Aliases of these models by what they are recommended for: judges of texts, and judges that look at images. A purpose without any is left out. */
function byPurpose(models: readonly Pick<CallableModel, 'alias' | 'modalities'>[]): Record<string, string[]> {
  const seeing = models.filter(({ modalities }) => modalities.includes('image'));
  return {
    ...(models.length > 0 && { llm_scorers: models.map(({ alias }) => alias) }),
    ...(seeing.length > 0 && { multimodal_scorers: seeing.map(({ alias }) => alias) }),
  };
}

/** Returns the recommended ones among an integration's models, by purpose and under the integration's own names. */
export function recommendedOf(integration: Integration): Record<string, string[]> {
  const ranked = modelsOf(integration).map((model) => ({ model, rank: allJudges.indexOf(model.builtin ?? '') }));
  const found = ranked.filter(({ rank }) => rank >= 0).sort((a, b) => a.rank - b.rank);
  return byPurpose(found.map(({ model }) => model));
}

/** Returns the recommended built-in models of each provider, connected or not. */
export const supportedRecommendations = (): Record<string, Record<string, string[]>> =>
  Object.fromEntries(
    Object.entries(recommendedJudges).map(([provider, names]) => [
      provider,
      byPurpose(names.map((name) => ({ alias: name, modalities: findBuiltinModel(name)?.modalities ?? [] }))),
    ]),
  );
