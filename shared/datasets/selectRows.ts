import { RequestInvalid } from '../errors/errors.ts';
import { derivedId, newId } from '../identifiers/ids.ts';
import { columnKey } from './columnKey.ts';
import type { Column, DatasetStore, RowChoice, RowTables } from './dataset.ts';
import type { RowSelection } from './rowSelection.ts';

export interface SelectRowsDeps {
  datasets: Pick<DatasetStore, 'noteSelection'>;
  rows: Pick<RowTables, 'select' | 'ordinalsOf'>;
}

/** Rows to choose from, or that were chosen before: whose they are, and the list of them. */
export interface ChoosableRows {
  ownerId: string;
  contentId: string;
  columns: readonly Column[];
  numRows: number;
  /** True when the ids of rows exist beyond this run: ids of a dataset do, those of a list of records do not. */
  keepIds: boolean;
}

/** The list of the ordinals of chosen rows; that of their keys has the id of the storage. */
export const ordinalListOf = (storageId: string): string => derivedId(storageId, 'ordinals');

/** Ids looked up in one statement. */
const IDS_AT_ONCE = 1_000;
/** Wrong ids or ordinals that a message names. */
const MAX_NAMED = 5;

/**
 * Chooses rows and stores which they are. No row is read into this process: the engine finds them.
 * @param like a list that says which: the same rows by id, or by ordinal where ids are not kept
 * @throws RequestInvalid when an id, ordinal or column is not there, the sample is too large, or no row fits
 */
export async function selectRows(
  { datasets, rows: tables }: SelectRowsDeps,
  runId: string,
  from: ChoosableRows,
  selection: RowSelection,
  like: RowChoice['like'],
): Promise<{ storageId: string; count: number; of: number }> {
  const { filter, sample, limit } = selection;
  const filters = (filter ?? []).map(({ column_name, operator, value }, index) => ({
    columnKey: columnKey(from.columns, column_name, ['body', 'rows', 'filter', index, 'column_name']),
    operator,
    value,
  }));
  const ordinals = await listedOrdinals(tables, from, selection);
  if (sample && sample.size > (ordinals?.length ?? from.numRows))
    throw sampleTooLarge(sample.size, ordinals?.length ?? from.numRows);
  const storageId = newId();
  // Noted first, so that what a crash leaves is found and removed.
  await datasets.noteSelection(storageId, runId);
  const choice: RowChoice = {
    filters,
    ...(ordinals ? { ordinals } : {}),
    ...(like ? { like } : {}),
    ...(sample ? { sample: { ...sample, by: from.keepIds ? 'id' : 'ordinal' } } : {}),
    ...(limit == null ? {} : { limit }),
  };
  const count = await tables.select(from, choice, { ownerId: storageId, keys: storageId, ordinals: ordinalListOf(storageId) });
  if (count === 0) throw invalid([], `none of the ${from.numRows} rows is selected`);
  if (sample && count < Math.min(sample.size, limit ?? sample.size)) throw sampleTooLarge(sample.size, count);
  return { storageId, count, of: from.numRows };
}

/** The ordinals that are listed, or those of the ids that are. @throws RequestInvalid naming those that are not there */
async function listedOrdinals(
  tables: SelectRowsDeps['rows'],
  { ownerId, contentId, numRows }: ChoosableRows,
  { ids, ordinals }: RowSelection,
): Promise<number[] | undefined> {
  if (ordinals) {
    const wrong = ordinals.filter((ordinal) => ordinal >= numRows);
    if (wrong.length > 0) throw invalid(['ordinals'], `there are ${numRows} rows, at 0 to ${numRows - 1}: not ${some(wrong)}`);
    return [...new Set(ordinals)];
  }
  if (!ids) return undefined;
  const wanted = [...new Set(ids)];
  const found = new Map<string, number>();
  for (let at = 0; at < wanted.length; at += IDS_AT_ONCE)
    for (const { rowId, ordinal } of await tables.ordinalsOf(ownerId, contentId, wanted.slice(at, at + IDS_AT_ONCE)))
      found.set(rowId, ordinal);
  const wrong = wanted.filter((id) => !found.has(id));
  if (wrong.length > 0) throw invalid(['ids'], `no rows with the ids ${some(wrong)}`);
  return [...found.values()];
}

const some = (values: readonly (string | number)[]): string =>
  values.length > MAX_NAMED
    ? `${values.slice(0, MAX_NAMED).join(', ')} and ${values.length - MAX_NAMED} more`
    : values.join(', ');

const sampleTooLarge = (size: number, rows: number) =>
  invalid(['sample', 'size'], `a sample of ${size} cannot be drawn from ${rows} rows`);

const invalid = (path: readonly string[], msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'rows', ...path], msg, type: 'rows' }]);
