import type { Caller } from '../../shared/accounts/permissions.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { type Integration, type IntegrationStore, usableBy } from '../../shared/integrations/integration.ts';
import { modelsOf } from '../../shared/modelCalls/models.ts';
import { recommendedOf, supportedRecommendations } from '../../shared/modelCalls/recommendedModels.ts';
import type { ScoringStore } from '../../shared/scoring/scoring.ts';
import {
  IntegrationModels,
  type IntegrationModelsResponse,
  LlmIntegrationPath,
  ModelNames,
  ModelsOfRunPath,
  ModelsQuery,
  RecommendedModelsResponse,
} from '../../shared/wire/integrations.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface IntegrationModelRouteDeps {
  store: Pick<IntegrationStore, 'list'>;
  /** Runs of every project, for those whose calls are made. */
  runs: Pick<ScoringStore, 'findRun'>;
}

type Capabilities = readonly ('vision' | 'audio')[] | null | undefined;

const tag = 'Integrations';
const read = { organization: 'read_integrations' } as const;
const not = 'Integrations that the caller has disabled are left out.';

/** The models that integrations name. Any model may judge, so those for runs and those for metrics are the same. */
export function integrationModelRoutes({ store, runs }: IntegrationModelRouteDeps): Endpoint[] {
  const usable = async (userId: string) => usableBy(await store.list(), userId);
  const modelsFor = async (userId: string, capabilities: Capabilities) =>
    Object.fromEntries(
      (await usable(userId)).map((integration) => [integration.name, toModels(integration, capabilities ?? [])]),
    );
  const aliasesOf = async ({ userId }: Caller, provider: string): Promise<string[]> => {
    const integrations = (await usable(userId)).filter((integration) => integration.provider === provider);
    return [...new Set(integrations.flatMap(modelsOf).map((model) => model.alias))];
  };
  return [
    endpoint({
      method: 'get',
      path: '/llm_integrations',
      summary: 'Models of every integration, by integration name',
      description: not,
      tag,
      access: read,
      query: ModelsQuery,
      response: IntegrationModels,
      handle: ({ query, caller }) => modelsFor(caller.userId, query.multimodal_capabilities),
    }),
    endpoint({
      method: 'get',
      path: '/llm_integrations/recommended_models',
      summary: 'Models that are recommended as judges of texts and of images',
      description: not,
      tag,
      access: read,
      response: RecommendedModelsResponse,
      handle: async ({ caller }) => ({
        supported: supportedRecommendations(),
        available: Object.fromEntries((await usable(caller.userId)).map((one) => [one.name, recommendedOf(one)])),
      }),
    }),
    endpoint({
      method: 'get',
      path: '/llm_integrations/projects/{project_id}/runs/{run_id}',
      summary: 'Models that the calls of a run may use, by integration name',
      description:
        'The calls of a log stream or an experiment are made for the user who made it: integrations that this user has disabled are left out.',
      errors: ['RunNotFound'],
      tag,
      access: { project: 'read' },
      params: ModelsOfRunPath,
      query: ModelsQuery,
      response: IntegrationModels,
      async handle({ params, query }) {
        const run = await runs.findRun(params.run_id);
        if (run?.projectId !== params.project_id) throw new ServiceError('RunNotFound', 'no run with this id in the project');
        return modelsFor(run.createdBy, query.multimodal_capabilities);
      },
    }),
    endpoint({
      method: 'get',
      path: '/llm_integrations/{llm_integration}/models',
      summary: "Names of a provider's models, as run settings may use them",
      tag,
      access: read,
      params: LlmIntegrationPath,
      response: ModelNames,
      handle: ({ params, caller }) => aliasesOf(caller, params.llm_integration),
    }),
    endpoint({
      method: 'get',
      path: '/llm_integrations/{llm_integration}/scorer_models',
      summary: "Names of a provider's models that can judge",
      tag,
      access: read,
      params: LlmIntegrationPath,
      response: ModelNames,
      handle: ({ params, caller }) => aliasesOf(caller, params.llm_integration),
    }),
  ];
}

function toModels(integration: Integration, capabilities: NonNullable<Capabilities>): IntegrationModelsResponse {
  const models = modelsOf(integration)
    .map(({ alias, name, modalities }) => ({
      alias,
      name,
      input_modalities: [...modalities],
      multimodal_capabilities: [
        ...(modalities.includes('image') ? ['vision' as const] : []),
        ...(modalities.includes('audio') ? ['audio' as const] : []),
      ],
    }))
    .filter((model) => capabilities.every((capability) => model.multimodal_capabilities.includes(capability)));
  const aliases = models.map((model) => model.alias);
  const { provider, config } = integration;
  const files = provider === 'custom' ? config.multiModal : config.multi_modal_config;
  return {
    integration_name: integration.name,
    integration_id: integration.id,
    provider,
    models: aliases,
    scorer_models: aliases,
    recommended_models: Object.fromEntries(
      Object.entries(recommendedOf(integration)).map(([purpose, names]) => [
        purpose,
        names.filter((name) => aliases.includes(name)),
      ]),
    ),
    supports_num_judges: true,
    supports_file_uploads: files != null,
    model_properties: models,
  };
}
