import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { recordsToCopy } from '../../shared/stores/clickhouse/reads/recordsToCopy.ts';
import type { Endpoint, Gate } from '../route.ts';
import { datasetContentRoutes } from '../routes/datasetContent.ts';
import { datasetExtensionRoutes } from '../routes/datasetExtensions.ts';
import { datasetRoutes } from '../routes/datasets.ts';
import { integrationRoutes } from '../routes/integrations.ts';
import { metricSettingsRoutes } from '../routes/metricSettings.ts';
import { promptRenderingRoutes } from '../routes/promptRendering.ts';
import { promptRoutes } from '../routes/prompts.ts';
import { scorerRoutes } from '../routes/scorers.ts';

/** What experiments are made of: datasets, prompts, scorers and integrations. */
export function assetEndpoints(domain: Domain, gate: Gate): Endpoint[] {
  const { assets, datasets, expiries, extensions, integrations, prices, prompts, scorers, stores } = domain;
  return [
    ...integrationRoutes({
      store: integrations.store,
      assets,
      prices,
      keyRing: integrations.keyRing,
      checkAddress: (url) => integrations.outbound.check(url),
      newId,
    }),
    ...datasetExtensionRoutes({ gate, assets, extensions }),
    ...datasetRoutes({ ...datasets.deps, gate, assets }),
    ...datasetContentRoutes({ ...datasets.deps, gate, assets, readRecords: recordsToCopy(stores.clickhouse, expiries.before) }),
    ...promptRoutes({ prompts, gate, assets }),
    ...promptRenderingRoutes({ ...datasets.deps, assets }),
    ...scorerRoutes({ scorers: scorers.store, gate, assets }),
    ...metricSettingsRoutes({ scorers: scorers.store, assets }),
  ];
}
