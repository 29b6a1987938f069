import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { getDataset } from './datasets.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';

/** A dataset that exists: as `createDataset` and `getDataset` give it, or by its id. Absent `versionIndex`: the version that is current now. */
export interface DatasetReference {
  id: string;
  versionIndex?: number;
}

export interface DatasetChoice {
  /** A dataset, its name, or the records themselves. */
  dataset?: DatasetReference | string | Record<string, unknown>[] | undefined;
  datasetId?: string | undefined;
  datasetName?: string | undefined;
}

/** The rows of an experiment: a version of a dataset, or records that go with the run. */
export type ChosenRows = { dataset: { dataset_id: string; version_index: number } } | { records: Record<string, unknown>[] };

/** @throws ValueError when rows are missing, given twice or unusable; looks at nothing but the parameters. */
export function checkDatasetChoice({ dataset, datasetId, datasetName }: DatasetChoice): void {
  const given = [dataset, datasetId, datasetName].filter((one) => one !== undefined && one !== null && one !== '');
  if (given.length === 0)
    throw new ValueError('name the rows: dataset (a dataset, its name or a list of records), datasetId or datasetName');
  if (given.length > 1) throw new ValueError('give only one of dataset, datasetId and datasetName');
  if (Array.isArray(dataset)) {
    if (dataset.length === 0) throw new ValueError('the list of records is empty: there is nothing to run');
    const wrong = dataset.findIndex((record) => typeof record !== 'object' || record === null || Array.isArray(record));
    if (wrong >= 0) throw new ValueError(`record ${wrong} is no object: a record holds the cells of a row by column name`);
  } else if (typeof dataset === 'object' && !dataset.id) throw new ValueError('a dataset object needs an id');
}

/** @throws ValueError when there is no such dataset. */
export async function chooseRows(client: ServiceClient, { dataset, datasetId, datasetName }: DatasetChoice): Promise<ChosenRows> {
  if (Array.isArray(dataset)) return { records: dataset };
  const id = typeof dataset === 'object' ? dataset.id : datasetId;
  const name = typeof dataset === 'string' ? dataset : datasetName;
  const found = await getDataset({ client, id, name });
  if (!found)
    throw new ValueError(id ? `there is no dataset with the id ${id}` : `there is no dataset called ${JSON.stringify(name)}`);
  const versionIndex = typeof dataset === 'object' ? dataset.versionIndex : undefined;
  return { dataset: { dataset_id: found.id, version_index: versionIndex ?? found.current_version_index } };
}

/** True when the experiment is over the same dataset version. The service alone knows the rows of records: their number is compared elsewhere. */
export const isOver = (experiment: ExperimentResponse, rows: ChosenRows): boolean =>
  'records' in rows
    ? experiment.dataset === null
    : experiment.dataset?.dataset_id === rows.dataset.dataset_id &&
      experiment.dataset.version_index === rows.dataset.version_index;
