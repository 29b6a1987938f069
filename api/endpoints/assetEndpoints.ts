import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { databricksTables } from '../../shared/integrations/databricksTables.ts';
import { clickhouseIntegrationCosts } from '../../shared/stores/clickhouse/reads/integrationCosts.ts';
import { recordsToCopy } from '../../shared/stores/clickhouse/reads/recordsToCopy.ts';
import { postgresPresetVersions } from '../../shared/stores/postgres/presetVersions.ts';
import { postgresRunsWithCalls } from '../../shared/stores/postgres/runsWithCalls.ts';
import type { Endpoint, Gate } from '../http/route.ts';
import { codeGenerationRoutes } from '../routes/codeGenerations.ts';
import { codeScorerRoutes } from '../routes/codeScorers.ts';
import { databricksTableRoutes } from '../routes/databricksTables.ts';
import { datasetContentRoutes } from '../routes/datasetContent.ts';
import { datasetExtensionRoutes } from '../routes/datasetExtensions.ts';
import { datasetRoutes } from '../routes/datasets.ts';
import { healthScoreRoutes } from '../routes/healthScores.ts';
import { integrationChoiceRoutes } from '../routes/integrationChoices.ts';
import { integrationCostRoutes } from '../routes/integrationCosts.ts';
import { integrationModelRoutes } from '../routes/integrationModels.ts';
import { integrationRoutes } from '../routes/integrations.ts';
import { metricSettingsRoutes } from '../routes/metricSettings.ts';
import { promptRenderingRoutes } from '../routes/promptRendering.ts';
import { promptRoutes } from '../routes/prompts.ts';
import { scorerProjectRoutes } from '../routes/scorerProjects.ts';
import { scorerRoutes } from '../routes/scorers.ts';

/** Endpoints of the parts of experiments: datasets, prompts, scorers and integrations. */
export function assetEndpoints(domain: Domain, gate: Gate): Endpoint[] {
  const {
    accounts,
    assets,
    codeGenerations,
    codeValidations,
    sandbox,
    datasets,
    expiries,
    extensions,
    healthScores,
    integrations,
    models,
    prices,
    projects,
    prompts,
    scorers,
    scoring,
    stores,
  } = domain;
  const saving = {
    store: integrations.store,
    keyRing: integrations.keyRing,
    checkAddress: (url: string) => integrations.outbound.check(url),
    newId,
  };
  const presetVersions = postgresPresetVersions(stores.database);
  return [
    // Before the routes with a name in the same place.
    ...databricksTableRoutes({ ...saving, assets, tables: databricksTables(integrations) }),
    ...integrationRoutes({ ...saving, assets, prices, models }),
    ...integrationChoiceRoutes({ store: integrations.store, assets }),
    ...integrationCostRoutes({
      costs: { ...clickhouseIntegrationCosts(stores.clickhouse), runsWithCalls: postgresRunsWithCalls(stores.database) },
      projects: projects.projects,
    }),
    ...integrationModelRoutes({ store: integrations.store, runs: scoring.scorings }),
    ...datasetExtensionRoutes({ gate, assets, extensions }),
    ...datasetRoutes({ ...datasets.deps, gate, assets }),
    ...datasetContentRoutes({ ...datasets.deps, gate, assets, readRecords: recordsToCopy(stores.clickhouse, expiries.before) }),
    ...promptRoutes({ prompts, gate, assets }),
    ...promptRenderingRoutes({ ...datasets.deps, assets }),
    ...codeGenerationRoutes({ sandbox, generations: codeGenerations }),
    ...codeScorerRoutes({ scorers: scorers.store, assets, sandbox, validations: codeValidations }),
    ...scorerRoutes({ scorers: scorers.store, gate, assets, presetVersions }),
    ...scorerProjectRoutes({
      scorers: scorers.store,
      presetVersions,
      projects: projects.projects,
      accounts: accounts.accounts,
      gate,
      assets,
    }),
    ...healthScoreRoutes({ scorers: scorers.store, healthScores, assets, newId }),
    ...metricSettingsRoutes({ scorers: scorers.store, assets }),
  ];
}
