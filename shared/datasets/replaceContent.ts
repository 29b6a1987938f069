import { ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { ColumnMapping } from '../wire/datasets.ts';
import { mappedColumnNames, rowMapping } from './columnMapping.ts';
import { cellsByName, type DatasetDeps, foundVersion } from './createDataset.ts';
import type { Column, DatasetVersion, NewDatasetVersion, StoredRow, VersionChanges } from './dataset.ts';
import { ColumnKeys, insertInBatches, madeBy, rowPages } from './rowStore.ts';

/** Makes an older version's content the newest version. Nothing is copied: both name the same list of rows. */
export async function rollBack(
  deps: DatasetDeps,
  datasetId: string,
  toVersion: number,
  userId: string,
  now: () => Date = () => new Date(),
): Promise<void> {
  const current = await foundVersion(deps.datasets, datasetId);
  const target = await foundVersion(deps.datasets, datasetId, toVersion);
  await publishNext(deps, current, {
    ...(await deps.rows.rowChanges(datasetId, current.contentId, target.contentId)),
    ...columnChanges(current.columns, target.columns),
    contentId: target.contentId,
    numRows: target.numRows,
    columns: target.columns,
    by: userId,
    at: now().toISOString(),
  });
}

/** Replaces a dataset's content by that of another one; its rows are new rows here. */
export async function replaceContent(
  deps: DatasetDeps,
  datasetId: string,
  source: DatasetVersion,
  userId: string,
  now: () => Date = () => new Date(),
): Promise<void> {
  await rewrite(deps, await foundVersion(deps.datasets, datasetId), source, undefined, userId, now().toISOString());
}

/** Applies a column mapping to the current content, as a new version; rows keep their ids. */
export async function mapColumns(
  deps: DatasetDeps,
  datasetId: string,
  mapping: ColumnMapping,
  userId: string,
  now: () => Date = () => new Date(),
): Promise<void> {
  const current = await foundVersion(deps.datasets, datasetId);
  await rewrite(deps, current, current, mapping, userId, now().toISOString());
}

/** A new version whose rows are those of `source`, mapped: read and written in pages. */
async function rewrite(
  deps: DatasetDeps,
  current: DatasetVersion,
  source: DatasetVersion,
  mapping: ColumnMapping | undefined,
  by: string,
  at: string,
): Promise<void> {
  const isOwn = source.datasetId === current.datasetId;
  const names = mappedColumnNames(
    mapping,
    source.columns.map(({ name }) => name),
  );
  const taken = await deps.datasets.takeKeys(current.datasetId, source.numRows, names.length);
  if (!taken) throw new ServiceError('NotFound', `there is no dataset ${current.datasetId}`);
  const mapRow = rowMapping(mapping);
  const keys = new ColumnKeys([], taken.columnKey);
  const columns = names.map((name) => ({ key: keys.keyOf(name), name }));
  const rows = async function* (): AsyncGenerator<StoredRow, void> {
    let rowKey = taken.rowKey;
    for await (const page of rowPages(deps.rows, source)) {
      for (const row of page) {
        const stamp = madeBy(by, at, current.versionIndex + 1);
        const cells = keys.cells(mapRow(cellsByName(row, source.columns)));
        yield isOwn
          ? { ...row, updatedBy: by, updatedAt: at, updatedInVersion: stamp.updatedInVersion, rowKey, cells }
          : { ...stamp, rowKey, rowId: newId(), cells };
        rowKey += 1;
      }
    }
  };
  const numRows = await insertInBatches(deps.rows, current.datasetId, rows());
  const contentId = newId();
  if (numRows > 0) await deps.rows.insertRanges(current.datasetId, contentId, [{ rowKey: taken.rowKey, count: numRows }]);
  await publishNext(deps, current, {
    rowsAdded: isOwn ? 0 : numRows,
    rowsRemoved: isOwn ? 0 : current.numRows,
    rowsEdited: isOwn ? numRows : 0,
    ...columnChanges(current.columns, columns),
    contentId,
    numRows,
    columns,
    by,
    at,
  });
}

async function publishNext(deps: DatasetDeps, current: DatasetVersion, next: NewDatasetVersion): Promise<void> {
  const published = await deps.datasets.publish(current.datasetId, current.versionIndex, next);
  if (published === undefined) throw new ServiceError('Conflict', 'the dataset was changed by someone else meanwhile; try again');
}

/** Returns what became of the columns; one that is stored under the same key has only got another name. */
function columnChanges(
  from: readonly Column[],
  to: readonly Column[],
): Pick<VersionChanges, 'columnsAdded' | 'columnsRemoved' | 'columnsRenamed'> {
  const onlyIn = (columns: readonly Column[], others: readonly Column[]) => {
    const known = new Set<string | number>(others.flatMap(({ key, name }) => [key, name]));
    return columns.filter(({ key, name }) => !known.has(key) && !known.has(name)).length;
  };
  const names = new Map(from.map(({ key, name }) => [key, name]));
  const renamed = to.filter(({ key, name }) => names.has(key) && names.get(key) !== name);
  return { columnsAdded: onlyIn(to, from), columnsRemoved: onlyIn(from, to), columnsRenamed: renamed.length };
}
