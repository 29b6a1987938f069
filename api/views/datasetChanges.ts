import { cellsByName, type DatasetDeps } from '../../shared/datasets/createDataset.ts';
import type { ChangedRow, DatasetVersion, StoredRow } from '../../shared/datasets/dataset.ts';
import { pagesOf } from '../../shared/datasets/rowStore.ts';
import { type PageRequest, pageFields } from '../../shared/wire/common.ts';
import { Reply } from '../http/route.ts';
import { rowMetadata } from './datasetPage.ts';

/** Changed rows that are read at a time, as they were and as they are. */
const ROWS_AT_ONCE = 200;
/** No content has it: before the first version there was nothing. */
const NOTHING = '00000000-0000-0000-0000-000000000000';

/** Writes the rows that differ between two versions, a page at a time, while they are read. Without `before` all rows of `after` are new. */
export async function datasetChanges(
  { datasets, rows }: Pick<DatasetDeps, 'datasets' | 'rows'>,
  before: DatasetVersion | undefined,
  after: DatasetVersion,
  page: PageRequest,
): Promise<Reply> {
  const { datasetId } = after;
  const contents = [before?.contentId ?? NOTHING, after.contentId] as const;
  const counts = await rows.rowChanges(datasetId, ...contents);
  const total = counts.rowsAdded + counts.rowsRemoved + counts.rowsEdited;
  const changed = await rows.changedRows(datasetId, ...contents, { from: page.starting_token, limit: page.limit });
  const head = {
    ...pageFields(page, changed.length, page.starting_token + changed.length < total),
    from_version: before?.versionIndex ?? null,
    version_index: after.versionIndex,
    rows_added: counts.rowsAdded,
    rows_removed: counts.rowsRemoved,
    rows_edited: counts.rowsEdited,
    column_names_before: before?.columns.map(({ name }) => name) ?? [],
    column_names: after.columns.map(({ name }) => name),
    columns_renamed: before ? renamed(before, after) : [],
  };

  const stored = async (some: readonly ChangedRow[]): Promise<Map<number, StoredRow>> => {
    const keys = some.flatMap((one) => [one.before, one.after].flatMap((place) => place?.rowKey ?? []));
    const found = new Map<number, StoredRow>();
    const ranges = keys.map((rowKey) => ({ rowKey, count: 1 }));
    for await (const part of pagesOf(rows, datasetId, ranges)) for (const row of part) found.set(row.rowKey, row);
    return found;
  };
  const text = async function* () {
    // It goes out with the first row: where no row can be read, that is an error and not a page that breaks off.
    let start = `${JSON.stringify(head).slice(0, -1)},"changes":[`;
    for (let from = 0; from < changed.length; from += ROWS_AT_ONCE) {
      const some = changed.slice(from, from + ROWS_AT_ONCE);
      const found = await stored(some);
      const users = await datasets.users([...new Set([...found.values()].flatMap((row) => [row.createdBy, row.updatedBy]))]);
      for (const one of some) {
        const was = one.before && found.get(one.before.rowKey);
        const is = one.after && found.get(one.after.rowKey);
        const row = is ?? was;
        yield start +
          JSON.stringify({
            change: was ? (is ? 'edited' : 'removed') : 'added',
            row_id: one.rowId,
            index_before: one.before?.ordinal ?? null,
            index: one.after?.ordinal ?? null,
            values_before: was && before ? Object.fromEntries(cellsByName(was, before.columns)) : null,
            values: is ? Object.fromEntries(cellsByName(is, after.columns)) : null,
            metadata: row ? rowMetadata(row, users) : null,
          });
        start = ',';
      }
    }
    yield start === ',' ? ']}' : `${start}]}`;
  };
  return new Reply({ stream: text(), headers: { 'Content-Type': 'application/json; charset=utf-8' } });
}

/** A column that is stored under the same key has only got another name. */
function renamed(before: DatasetVersion, after: DatasetVersion): { from: string; to: string }[] {
  const names = new Map(before.columns.map(({ key, name }) => [key, name]));
  return after.columns.flatMap(({ key, name }) => {
    const from = names.get(key);
    return from === undefined || from === name ? [] : [{ from, to: name }];
  });
}
