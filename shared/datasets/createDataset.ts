import type { AssetViewer } from '../assets/assetAccess.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { freeName, nameStem } from '../identifiers/freeName.ts';
import { newId } from '../identifiers/ids.ts';
import type { ColumnMapping, DatasetFormat } from '../wire/datasets.ts';
import { mappedColumnNames, rowMapping } from './columnMapping.ts';
import type {
  Column,
  Dataset,
  DatasetStore,
  DatasetVersion,
  NewDataset,
  NewDatasetVersion,
  RowTables,
  StoredRow,
  VersionChanges,
} from './dataset.ts';
import { checkColumns, checkRows, type DatasetLimits } from './limits.ts';
import { type CsvReading, type FileRow, readRows } from './readRows.ts';
import { ColumnKeys, insertInBatches, madeBy, rowPages } from './rowStore.ts';

export interface DatasetDeps {
  datasets: DatasetStore;
  rows: RowTables;
  /** Limits of a dataset. Absent: the default ones. */
  limits?: DatasetLimits;
}

export interface CreateDataset {
  name: string;
  /** A taken name gets a suffix instead of an error. */
  appendSuffix: boolean;
  content: { file: Blob; format: DatasetFormat; csv?: CsvReading } | { copyOf: DatasetVersion } | undefined;
  columnMapping: ColumnMapping | undefined;
  /** The project that it belongs to; undefined: it is the organization's. */
  projectId: string | undefined;
  hidden: boolean;
  draft: boolean;
  userId: string;
  /** Its name must differ from those that its author sees. */
  viewer: AssetViewer;
}

export const noChanges: VersionChanges = {
  rowsAdded: 0,
  rowsRemoved: 0,
  rowsEdited: 0,
  columnsAdded: 0,
  columnsRemoved: 0,
  columnsRenamed: 0,
};

/** A new dataset with its first version. Its rows are stored before it is published: a broken file leaves nothing that could be found. */
export async function createDataset(
  deps: DatasetDeps,
  input: CreateDataset,
  now: () => Date = () => new Date(),
): Promise<Dataset> {
  // Checked before the file is read; the name is settled when the dataset is published.
  await freeDatasetName(deps.datasets, input.viewer, input.name, input.appendSuffix);
  const id = newId();
  const at = now().toISOString();
  const source = sourceRows(deps, input.content);
  const mapRow = rowMapping(input.columnMapping);
  const keys = new ColumnKeys();
  const rows = async function* (): AsyncGenerator<StoredRow, void> {
    let rowKey = 0;
    for await (const cells of source.rows) {
      if (!input.content || !('copyOf' in input.content)) checkRows(rowKey + 1, deps.limits, ['body', 'file']);
      yield { rowKey, rowId: newId(), cells: keys.cells(mapRow(cells)), ...madeBy(input.userId, at, 1) };
      rowKey += 1;
    }
  };
  try {
    const stored = await insertInBatches(deps.rows, id, rows());
    const columns = mappedColumnNames(input.columnMapping, source.columnNames()).map((column) => ({
      key: keys.keyOf(column),
      name: column,
    }));
    // One client uploads an empty list as a single `{}`: rows without any column are no rows.
    const numRows = columns.length === 0 ? 0 : stored;
    const contentId = newId();
    if (numRows > 0) await deps.rows.insertRanges(id, contentId, [{ rowKey: 0, count: numRows }]);
    const dataset = {
      id,
      hidden: input.hidden,
      draft: input.draft,
      columnMapping: input.columnMapping,
      projectId: input.projectId,
      nextRowKey: stored,
      nextColumnKey: keys.columns.length,
    };
    const first = {
      ...noChanges,
      rowsAdded: numRows,
      columnsAdded: columns.length,
      contentId,
      numRows,
      columns,
      by: input.userId,
      at,
    };
    await publishNew(deps.datasets, dataset, input, first);
  } catch (err) {
    await deps.rows.deleteOwner(id);
    throw err;
  }
  return foundDataset(deps.datasets, id);
}

/** With a suffix asked for, a name that another request takes in the same moment is no error: the next free one is tried. */
async function publishNew(
  datasets: DatasetStore,
  dataset: Omit<NewDataset, 'name'>,
  wanted: Pick<CreateDataset, 'name' | 'appendSuffix' | 'viewer'>,
  first: NewDatasetVersion,
): Promise<void> {
  try {
    const name = await freeDatasetName(datasets, wanted.viewer, wanted.name, wanted.appendSuffix);
    await datasets.insert({ ...dataset, name }, first);
  } catch (err) {
    if (!wanted.appendSuffix || !(err instanceof ServiceError) || err.code !== 'Conflict') throw err;
    await publishNew(datasets, dataset, wanted, first);
  }
}

/** @throws ServiceError `NotFound` */
export async function foundDataset(datasets: Pick<DatasetStore, 'find'>, id: string): Promise<Dataset> {
  const dataset = await datasets.find({ id });
  if (!dataset) throw new ServiceError('NotFound', `there is no dataset ${id}`);
  return dataset;
}

/** @throws ServiceError `NotFound` for an unknown dataset or version. */
export async function foundVersion(datasets: DatasetStore, id: string, versionIndex?: number): Promise<DatasetVersion> {
  await foundDataset(datasets, id);
  const version = await datasets.version(id, versionIndex);
  if (!version) throw new ServiceError('NotFound', `dataset ${id} has no version ${versionIndex}`);
  return version;
}

/**
 * The dataset of an experiment, by id or by exact name. With `projectId`, the project is noted as using it.
 * @throws ServiceError `NotFound`
 */
export async function findDataset(
  datasets: Pick<DatasetStore, 'find' | 'link'>,
  { id, name, projectId }: { id?: string | undefined; name?: string | undefined; projectId?: string | undefined },
): Promise<Dataset> {
  const dataset =
    id === undefined ? (name === undefined ? undefined : await datasets.find({ name })) : await datasets.find({ id });
  if (!dataset)
    throw new ServiceError(
      'NotFound',
      id === undefined ? `there is no dataset named "${name ?? ''}"` : `there is no dataset ${id}`,
    );
  if (projectId !== undefined) await datasets.link(dataset.id, projectId);
  return dataset;
}

/** The name, or a free one like it. @throws ServiceError `Conflict` */
export async function freeDatasetName(
  datasets: Pick<DatasetStore, 'namesFrom'>,
  viewer: AssetViewer,
  name: string,
  appendSuffix: boolean,
  except?: string,
): Promise<string> {
  return freeName(await datasets.namesFrom(nameStem(name), viewer), { what: 'dataset', name, appendSuffix, except });
}

interface SourceRows {
  rows: AsyncIterable<FileRow> | Iterable<FileRow>;
  /** Complete once the rows have been read. */
  columnNames(): string[];
}

function sourceRows({ rows: tables, limits }: DatasetDeps, content: CreateDataset['content']): SourceRows {
  if (!content) return { rows: [], columnNames: () => [] };
  if ('copyOf' in content)
    return { rows: rowsOfVersion(tables, content.copyOf), columnNames: () => content.copyOf.columns.map(({ name }) => name) };
  const names: string[] = [];
  const onColumn = (name: string) => {
    names.push(name);
    checkColumns(names.length, limits, ['body', 'file']);
  };
  return { rows: readRows(content.format, content.file, onColumn, content.csv), columnNames: () => names };
}

async function* rowsOfVersion(tables: RowTables, version: DatasetVersion): AsyncGenerator<FileRow, void> {
  for await (const page of rowPages(tables, version)) for (const row of page) yield cellsByName(row, version.columns);
}

/** A stored row as names and cells, in column order. */
export const cellsByName = (row: StoredRow, columns: readonly Column[]): FileRow =>
  columns.map(({ key, name }) => [name, row.cells[key] ?? null] as const);

/** @throws RequestInvalid when a name is missing. */
export function datasetName(given: string | undefined, file: Blob | undefined): string {
  const name = given ?? (file instanceof File ? file.name.slice(0, 128).trim() : '');
  if (name !== '') return name;
  throw new RequestInvalid([{ loc: ['body', 'name'], type: 'missing', msg: 'a dataset needs a name' }]);
}
