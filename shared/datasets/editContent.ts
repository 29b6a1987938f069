import { freeTurn } from '../concurrency/freeTurn.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { DatasetEdit } from '../wire/datasets.ts';
import { type DatasetDeps, foundVersion } from './createDataset.ts';
import type { DatasetVersion, NewDatasetVersion } from './dataset.ts';
import { EditedTable, type ReadRecords } from './editedTable.ts';
import { checkColumns, checkRows } from './limits.ts';
import { insertInBatches } from './rowStore.ts';

export interface EditContent {
  datasetId: string;
  edits: readonly DatasetEdit[];
  userId: string;
  readRecords: ReadRecords;
  /** Says whether a version is the one the caller has seen. */
  isExpected(version: DatasetVersion): boolean;
}

// Two writers meet seldom; each loss is repeated on the winner's table. More than this means a storm, and the caller had better wait.
const MAX_ATTEMPTS = 20;

/**
 * Applies edits in order, as one new version. Without a precondition, edits of another writer in between are kept: these are applied on top.
 * @returns the new version's index
 * @throws ServiceError `PreconditionFailed` when the caller has seen another version, RequestInvalid for an edit that cannot be applied.
 */
export async function editContent(deps: DatasetDeps, input: EditContent, now: () => Date = () => new Date()): Promise<number> {
  checkMixture(input.edits);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const version = await foundVersion(deps.datasets, input.datasetId);
    if (!input.isExpected(version))
      throw new ServiceError('PreconditionFailed', 'the dataset has changed since; read its content again and repeat the edit');
    const published = await applyEdits(deps, version, input, now().toISOString());
    if (published !== undefined) return published;
  }
  throw new ServiceError('Conflict', 'the dataset is being changed by too many writers at once; try again');
}

const globalEdits = new Set<DatasetEdit['edit_type']>(['filter_rows', 'copy_record_data', 'remove_column', 'rename_column']);

function checkMixture(edits: readonly DatasetEdit[]): void {
  const [first] = edits;
  const other = edits.findIndex((edit) => globalEdits.has(edit.edit_type) !== globalEdits.has(first?.edit_type ?? 'append_row'));
  if (other === -1) return;
  throw new RequestInvalid([
    {
      loc: ['body', 'edits', other, 'edit_type'],
      type: 'edits_mixed',
      msg: `${edits[other]?.edit_type} and ${first?.edit_type} cannot be in one request: edits of rows and edits of the whole table go apart`,
    },
  ]);
}

async function applyEdits(
  deps: DatasetDeps,
  version: DatasetVersion,
  input: EditContent,
  at: string,
): Promise<number | undefined> {
  const table = await EditedTable.open(deps, version, input.edits);
  for (const [index, edit] of input.edits.entries()) {
    await table.apply(edit, ['body', 'edits', index], input.readRecords);
    await freeTurn();
  }
  const { rowsAdded, rowsRemoved, columnsAdded } = table.changes;
  if (rowsAdded > 0) checkRows(version.numRows + rowsAdded - rowsRemoved, deps.limits, ['body', 'edits']);
  if (columnsAdded > 0) checkColumns(table.columnCount, deps.limits, ['body', 'edits']);
  const taken = await deps.datasets.takeKeys(version.datasetId, table.draftCount, table.newColumnCount);
  if (!taken) return undefined;
  const { rows, ranges, columns } = table.finish(taken, { userId: input.userId, at, versionIndex: version.versionIndex + 1 });
  await insertInBatches(deps.rows, version.datasetId, rows);
  const contentId = newId();
  await deps.rows.insertRanges(version.datasetId, contentId, ranges);
  const numRows = ranges.reduce((sum, { count }) => sum + count, 0);
  const next: NewDatasetVersion = { ...table.changes, contentId, numRows, columns, by: input.userId, at };
  return deps.datasets.publish(version.datasetId, version.versionIndex, next);
}
