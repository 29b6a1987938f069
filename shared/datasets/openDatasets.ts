import { ServiceError } from '../errors/errors.ts';
import { HOUR_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { DatasetDeps } from './createDataset.ts';
import type { DatasetRow, RowChoice } from './dataset.ts';
import { toExperimentRow } from './experimentRow.ts';
import { forgetSelection, purgeUnusedRows } from './purge.ts';
import { selectedIds, selectedPage } from './readSelectedRows.ts';
import { positionsOfIds, positionsOfOrdinals } from './rowPositions.ts';
import type { RowSelection, SelectedRows } from './rowSelection.ts';
import { datasetRowStore, rowsOfRuns, storeRunRows } from './rowStore.ts';
import type { RowReader, RowShape, RowsOfRun } from './rowsOfRun.ts';
import { type ChoosableRows, ordinalListOf, selectRows } from './selectRows.ts';

export interface Datasets {
  /** Dependencies of the operations on datasets. */
  deps: DatasetDeps;
  /** The rows of runs, whether they are a dataset's or the run's own. */
  rowsOfRuns: RowReader;
  /** Undefined where a run without a dataset has no rows of its own. @throws ServiceError `NotFound` when its dataset is unknown */
  shapeOf(run: Pick<RowsOfRun, 'source' | 'experimentId'>): Promise<RowShape | undefined>;
  /** Stores records as the rows of one run. A repeat changes nothing. */
  storeRunRows(runId: string, records: Record<string, unknown>[]): Promise<void>;
  /** Takes back what was stored as the rows of one run. */
  forgetRunRows(runId: string): Promise<void>;
  /**
   * Chooses rows of the run and stores which they are. @param like the run whose rows are taken, for `same_as`
   * @throws RequestInvalid when it names rows or columns that are not there, or no row fits
   */
  selectRows(
    run: RowsOfRun,
    selection: RowSelection,
    like: RowsOfRun | undefined,
  ): Promise<Pick<SelectedRows, 'storageId' | 'count' | 'of'>>;
  /** Takes back rows that were chosen for no run. */
  forgetSelection(storageId: string): Promise<void>;
  /** Where in its run, among the rows of one trial, rows with these ids or ordinals are; those that are not there are left out. */
  positionsOf(run: RowsOfRun, by: 'ids' | 'ordinals', named: readonly (string | number)[]): Promise<Map<string | number, number>>;
  jobs: RecurringJob[];
}

/** Rows stored for a run that never came to be are removed after this. */
const UNUSED_MS = 24 * HOUR_MS;

/** Datasets, and the rows that runs have without one. */
export function openDatasets(deps: DatasetDeps): Datasets {
  const ofDatasets = datasetRowStore(deps);
  const ofRuns = rowsOfRuns(deps);
  const contentOf = async ({ source, experimentId }: Pick<RowsOfRun, 'source' | 'experimentId'>): Promise<ChoosableRows> => {
    if (source.kind === 'dataset') {
      const version = await deps.datasets.version(source.datasetId, source.versionIndex);
      if (!version) throw new ServiceError('NotFound', `dataset ${source.datasetId} has no version ${source.versionIndex}`);
      return { ...version, ownerId: version.datasetId, keepIds: true };
    }
    const stored = await deps.datasets.runRows(experimentId);
    if (!stored) throw new ServiceError('NotFound', `run ${experimentId} has no rows of its own`);
    return { ...stored, ownerId: stored.storageId, contentId: stored.storageId, keepIds: false };
  };
  /** The rows of a run as a list: of keys, which records of a run have in their order, too. */
  const listOf = async (run: RowsOfRun): Promise<RowChoice['like']> => {
    const by = run.source.kind === 'dataset' ? 'id' : 'ordinal';
    if (!run.selectedRows) return { by, ...(await contentOf(run)) };
    const { storageId } = run.selectedRows;
    return { by, ownerId: storageId, contentId: by === 'id' ? storageId : ordinalListOf(storageId) };
  };
  const rowsOfAll: RowReader = {
    async page(run, from, to) {
      const { source, experimentId, selectedRows } = run;
      const read = async () => {
        if (selectedRows) return selectedPage(deps.rows, await contentOf(run), selectedRows.storageId, from, to);
        return source.kind === 'dataset'
          ? ofDatasets.page(source.datasetId, source.versionIndex, from, to)
          : ofRuns.page(experimentId, from, to);
      };
      return (await read()).map(toExperimentRow);
    },
    async ids(run, from, to) {
      const { source, experimentId, selectedRows } = run;
      if (selectedRows) return selectedIds(deps.rows, await contentOf(run), selectedRows.storageId, from, to);
      return source.kind === 'dataset'
        ? ofDatasets.ids(source.datasetId, source.versionIndex, from, to)
        : ofRuns.ids(experimentId, from, to);
    },
  };
  return {
    deps,
    rowsOfRuns: rowsOfAll,
    positionsOf: (run, by, named) =>
      by === 'ids' ? positionsOfIds(rowsOfAll, run, named) : positionsOfOrdinals(deps.rows, run, named),
    selectRows: async (run, selection, like) =>
      selectRows(deps, run.experimentId, await contentOf(run), selection, like && (await listOf(like))),
    forgetSelection: (storageId) => forgetSelection(deps, storageId),
    async forgetRunRows(runId) {
      const stored = await deps.datasets.runRows(runId);
      if (!stored) return;
      await deps.datasets.forgetRunRows(runId);
      await deps.rows.deleteOwner(stored.storageId);
    },
    async shapeOf({ source, experimentId }) {
      if (source.kind === 'dataset') {
        const version = [source.datasetId, source.versionIndex] as const;
        const [rowCount, columnNames, inputFields] = await Promise.all([
          ofDatasets.rowCount(...version),
          ofDatasets.columnNames(...version),
          ofDatasets.inputFields(...version),
        ]);
        const page = (from: number, to: number) => ofDatasets.page(...version, from, to);
        return { rowCount, columnNames, inputFields, values: valuesOf(page) };
      }
      if (!(await deps.datasets.runRows(experimentId))) return undefined;
      const [rowCount, columnNames, inputFields] = await Promise.all([
        ofRuns.rowCount(experimentId),
        ofRuns.columnNames(experimentId),
        ofRuns.inputFields(experimentId),
      ]);
      const page = (from: number, to: number) => ofRuns.page(experimentId, from, to);
      return { rowCount, columnNames, inputFields, values: valuesOf(page) };
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

const valuesOf =
  (page: (from: number, to: number) => Promise<DatasetRow[]>): RowShape['values'] =>
  async (from, count) =>
    (await page(from, from + count)).map(({ values }) => values);
