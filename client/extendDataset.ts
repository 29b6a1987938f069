import type { z } from 'zod';
import type {
  JobProgress,
  SyntheticDatasetExtensionRequest,
  SyntheticDatasetExtensionResponse,
} from '../shared/wire/datasetExtensions.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { untilAnswered } from './untilAnswered.ts';

const BETWEEN_ASKING_MS = 1_000;

/** How far a model is with the rows of a dataset. */
export interface DatasetExtension {
  datasetId: string;
  rowsMade: number | null;
  rowsAsked: number | null;
  /** The service's message about the extension; at the end, how many rows were made. */
  message: string | null;
}

export interface WatchDatasetExtensionOptions extends CallOptions {
  datasetId: string;
  /** Called about once a second, and with the end. */
  onProgress?: ((extension: DatasetExtension) => void) | undefined;
}

export interface ExtendDatasetOptions extends Omit<WatchDatasetExtensionOptions, 'datasetId'> {
  /** The model that makes the rows, named as an experiment names it. */
  modelAlias: string;
  /** The prompt of the application that the rows are for. One of prompt, instructions, examples and sourceDataset is needed. */
  prompt?: string | undefined;
  instructions?: string | undefined;
  examples?: string[] | undefined;
  /** Rows like those of this dataset, with its columns. */
  sourceDataset?: { id: string; versionIndex?: number; rowIds?: string[] } | undefined;
  /** Kinds that the rows are spread over. */
  dataTypes?: NonNullable<z.input<typeof SyntheticDatasetExtensionRequest>['data_types']> | undefined;
  /** Rows to make: 10 without it, 1,000 at most. */
  count?: number | undefined;
  /** The new dataset belongs to this project. */
  projectId?: string | undefined;
  /** False: do not wait for the rows; `watchDatasetExtension` does it later. Default true. */
  wait?: boolean | undefined;
}

/**
 * Has a model make the rows of a new dataset, and waits until they are in it. The signal ends the waiting alone: the model goes on until the dataset
 * is deleted.
 * @throws HttpStatusError 422 for an unknown model, and where nothing says what to make; DatasetExtensionError as `watchDatasetExtension`
 */
export async function extendDataset(options: ExtendDatasetOptions): Promise<DatasetExtension> {
  const { modelAlias, sourceDataset: source, dataTypes, wait } = options;
  const body = {
    ...{ prompt: options.prompt, instructions: options.instructions, examples: options.examples, count: options.count },
    prompt_settings: { model_alias: modelAlias },
    source_dataset: source && { dataset_id: source.id, dataset_version_index: source.versionIndex, row_ids: source.rowIds },
    data_types: dataTypes,
    project_id: options.projectId,
  };
  // A repeat could make a second dataset.
  const made = clientOf(options).send<z.output<typeof SyntheticDatasetExtensionResponse>>('/datasets/extend', { body });
  const { dataset_id: datasetId } = await made;
  const watched = { ...options, datasetId };
  return wait === false ? askHowFar(watched) : watchDatasetExtension(watched);
}

/**
 * Waits until the rows that a model makes are in their dataset, also over a restart of the service. A dataset that no model fills is answered at once.
 * @throws DatasetExtensionError when something kept the model from making all of them; NotFoundError when the dataset is deleted; ConnectionError or
 * HttpStatusError after ten minutes without an answer
 */
export function watchDatasetExtension(options: WatchDatasetExtensionOptions): Promise<DatasetExtension> {
  const ended = async (): Promise<DatasetExtension | undefined> => {
    const extension = await askHowFar(options);
    options.onProgress?.(extension);
    if (extension.rowsMade === null || extension.rowsMade !== extension.rowsAsked) return undefined;
    if (/unexpected error/i.test(extension.message ?? '')) throw new DatasetExtensionError(extension);
    return extension;
  };
  return untilAnswered(ended, BETWEEN_ASKING_MS, options.signal);
}

async function askHowFar(options: WatchDatasetExtensionOptions): Promise<DatasetExtension> {
  const { datasetId } = options;
  const path = `/datasets/extend/${encodeURIComponent(datasetId)}`;
  const { steps_completed, steps_total, progress_message } = await clientOf(options).send<z.output<typeof JobProgress>>(path);
  return { datasetId, rowsMade: steps_completed, rowsAsked: steps_total, message: progress_message };
}

/** Something kept a model from making all the rows that it was asked for; those that it made are in the dataset. */
export class DatasetExtensionError extends Error {
  override name = 'DatasetExtensionError';
  readonly extension: DatasetExtension;

  constructor(extension: DatasetExtension) {
    super(`${extension.message}`);
    this.extension = extension;
  }
}
