import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess } from '../assets/assetAccess.ts';
import type { ScorerStore } from '../scorers/scorer.ts';
import { scorersSeenBy } from '../scorers/scorersSeenBy.ts';
import type { DatasetLookup } from './create.ts';
import type { ExperimentStore } from './experimentStore.ts';

interface AssetsOfRuns {
  datasets: DatasetLookup;
  scorers: ScorerStore;
  experiments: ExperimentStore;
}

/** Returns what a request of this caller makes a run of: datasets, prompts and scorers that they do not see are not there. */
export function assetsSeenBy<D extends AssetsOfRuns>(deps: D, assets: AssetAccess, caller: Caller): D {
  return {
    ...deps,
    scorers: scorersSeenBy(deps.scorers, assets, caller),
    datasets: {
      ...deps.datasets,
      async find(by: Parameters<DatasetLookup['find']>[0]) {
        const dataset = await deps.datasets.find(by);
        return dataset && (await assets.sees(caller, 'dataset', dataset.id)) ? dataset : undefined;
      },
    },
    experiments: {
      ...deps.experiments,
      async templateOfVersion(versionId: string) {
        const template = await deps.experiments.templateOfVersion(versionId);
        return template && (await assets.sees(caller, 'prompt', template.id)) ? template : undefined;
      },
    },
  };
}
