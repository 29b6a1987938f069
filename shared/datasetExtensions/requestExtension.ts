import type { AssetViewer } from '../assets/assetAccess.ts';
import { cellsByName, createDataset, type DatasetDeps, foundDataset, foundVersion } from '../datasets/createDataset.ts';
import type { Dataset, StoredRow } from '../datasets/dataset.ts';
import { checkColumns, checkRows } from '../datasets/limits.ts';
import { rowPages } from '../datasets/rowStore.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { nameOfModel } from '../modelCalls/models.ts';
import type { SyntheticDatasetExtensionRequest } from '../wire/datasetExtensions.ts';
import type { ExtensionRequest, ExtensionStore, ExtensionWorkflows, GeneratedRow } from './extension.ts';
import { TYPE_COLUMN } from './nextBatch.ts';
import { storableText } from './storableText.ts';

/** Rows of the source that are kept for showing to the model. */
const MAX_SOURCE_ROWS = 100;

export interface RequestExtensionDeps {
  datasets: DatasetDeps;
  extensions: ExtensionStore;
  workflows: ExtensionWorkflows;
  models: Pick<ModelCaller, 'resolveModel'>;
  /** Gets what went wrong with a start; what is stored is started again. */
  onError(datasetId: string, err: unknown): void;
}

/**
 * Makes an empty dataset and has a model fill it. The source is read now: later changes of it do not matter.
 * @param by who asks; they may read the source and, where one is named, make datasets in the project
 * @throws ServiceError `ModelUnknown`, `IntegrationNotFound`, `NotFound` for a source; RequestInvalid for rows that the source does not have, and for what no dataset can hold
 */
export async function requestExtension(
  deps: RequestExtensionDeps,
  body: SyntheticDatasetExtensionRequest,
  by: { userId: string; viewer: AssetViewer; projectId: string | undefined },
): Promise<Dataset> {
  const model = nameOfModel(await deps.models.resolveModel(body.prompt_settings?.model_alias ?? null, null, by.userId));
  const source = body.source_dataset ? await sourceOf(deps.datasets, body.source_dataset) : undefined;
  if (!source && !body.prompt && !body.instructions && !body.examples?.length)
    throw new RequestInvalid([
      {
        loc: ['body'],
        type: 'missing',
        msg: 'nothing says what to make: give prompt, instructions, examples or source_dataset',
      },
    ]);
  const columns = source?.columns ?? ['input'];
  // Checked now: once the rows are made, they are paid for.
  checkRows(body.count, deps.datasets.limits, ['body', 'count']);
  const width = columns.length + (body.data_types?.length ? 1 : 0);
  checkColumns(width, deps.datasets.limits, ['body', source ? 'source_dataset' : 'data_types']);
  const dataset = await createDataset(deps.datasets, {
    name: source ? `${source.name.slice(0, 100)} (extended)` : 'Generated rows',
    appendSuffix: true,
    content: undefined,
    columnMapping: undefined,
    hidden: false,
    draft: false,
    ...by,
  });
  const request: ExtensionRequest = {
    model,
    count: body.count,
    prompt: body.prompt ?? null,
    instructions: body.instructions ?? null,
    examples: body.examples ?? [],
    dataTypes: body.data_types ?? [],
    sourceRows: source?.rows ?? [],
    columns,
    userId: by.userId,
    projectId: by.projectId,
  };
  await deps.extensions.insert(dataset.id, request).catch(async (err: unknown) => {
    await deps.datasets.datasets.remove(dataset.id);
    throw err;
  });
  // A workflow service that is away costs nothing: a recurring job starts what is stored.
  await deps.workflows.extend(dataset.id).catch((err: unknown) => deps.onError(dataset.id, err));
  return foundDataset(deps.datasets.datasets, dataset.id);
}

type Source = NonNullable<SyntheticDatasetExtensionRequest['source_dataset']>;

async function sourceOf({ datasets, rows }: DatasetDeps, { dataset_id: id, dataset_version_index: index, row_ids: ids }: Source) {
  const { name } = await foundDataset(datasets, id);
  const version = await foundVersion(datasets, id, index ?? undefined);
  const wanted = ids?.length ? new Set(ids) : undefined;
  const found: StoredRow[] = [];
  for await (const page of rowPages(rows, version)) {
    for (const row of page) if (!wanted || wanted.delete(row.rowId)) found.push(row);
    if (wanted ? wanted.size === 0 : found.length >= MAX_SOURCE_ROWS) break;
  }
  if (wanted && wanted.size > 0)
    throw new RequestInvalid([
      {
        loc: ['body', 'source_dataset', 'row_ids'],
        type: 'row_unknown',
        msg: `version ${version.versionIndex} of this dataset has no row ${[...wanted].slice(0, 5).join(', ')}`,
      },
    ]);
  if (found.length === 0)
    throw new RequestInvalid([
      { loc: ['body', 'source_dataset'], type: 'empty', msg: 'this dataset has no rows to make others like them' },
    ]);
  const columns = version.columns.map((column) => column.name).filter((one) => one !== 'input' && one !== TYPE_COLUMN);
  return {
    name,
    columns: ['input', ...columns],
    rows: found.slice(0, MAX_SOURCE_ROWS).map((row): GeneratedRow => {
      const cells = cellsByName(row, version.columns).filter(([, cell]) => cell !== null);
      return Object.fromEntries(
        cells.map(([column, cell]) => [column, storableText(typeof cell === 'string' ? cell : JSON.stringify(cell))]),
      );
    }),
  };
}
