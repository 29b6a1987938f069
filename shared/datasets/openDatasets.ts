import type { ExperimentRun } from '../experiments/experiment.ts';
import type { RowShape } from '../experiments/prepareRun.ts';
import type { RowSource } from '../experiments/rowLog.ts';
import { HOUR_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { DatasetDeps } from './createDataset.ts';
import { toExperimentRow } from './experimentRow.ts';
import { purgeUnusedRows } from './purge.ts';
import { datasetRowStore, rowsOfRuns, storeRunRows } from './rowStore.ts';

export interface Datasets {
  /** What the operations on datasets need. */
  deps: DatasetDeps;
  /** The rows of runs, whether they are a dataset's or the run's own. */
  rowsOfRuns: RowSource;
  /** Undefined where a run without a dataset has no rows of its own. @throws ServiceError `NotFound` when its dataset is unknown */
  shapeOf(run: Pick<ExperimentRun, 'source' | 'experimentId'>): Promise<RowShape | undefined>;
  /** Stores records as the rows of one run. A repeat changes nothing. */
  storeRunRows(runId: string, records: Record<string, unknown>[]): Promise<void>;
  jobs: RecurringJob[];
}

/** Rows stored for a run that never came to be are removed after this. */
const UNUSED_MS = 24 * HOUR_MS;

/** Datasets, and the rows that runs have without one. */
export function openDatasets(deps: DatasetDeps): Datasets {
  const ofDatasets = datasetRowStore(deps);
  const ofRuns = rowsOfRuns(deps);
  return {
    deps,
    rowsOfRuns: {
      async page({ source, experimentId }, from, to) {
        const read =
          source.kind === 'dataset'
            ? ofDatasets.page(source.datasetId, source.versionIndex, from, to)
            : ofRuns.page(experimentId, from, to);
        return (await read).map(toExperimentRow);
      },
      ids: ({ source, experimentId }, from, to) =>
        source.kind === 'dataset'
          ? ofDatasets.ids(source.datasetId, source.versionIndex, from, to)
          : ofRuns.ids(experimentId, from, to),
    },
    async shapeOf({ source, experimentId }) {
      if (source.kind === 'dataset') {
        const version = [source.datasetId, source.versionIndex] as const;
        const [rowCount, columnNames, inputFields] = await Promise.all([
          ofDatasets.rowCount(...version),
          ofDatasets.columnNames(...version),
          ofDatasets.inputFields(...version),
        ]);
        return { rowCount, columnNames, inputFields };
      }
      if (!(await deps.datasets.runRows(experimentId))) return undefined;
      const [rowCount, columnNames, inputFields] = await Promise.all([
        ofRuns.rowCount(experimentId),
        ofRuns.columnNames(experimentId),
        ofRuns.inputFields(experimentId),
      ]);
      return { rowCount, columnNames, inputFields };
    },
    storeRunRows: async (runId, records) => void (await storeRunRows(deps, runId, records)),
    jobs: [
      {
        name: 'remove-unused-rows',
        every: HOUR_MS,
        run: () => purgeUnusedRows(deps, new Date(Date.now() - UNUSED_MS).toISOString()),
      },
    ],
  };
}
