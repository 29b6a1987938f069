import type { DatasetRow, KeyRange, RowTables } from './dataset.ts';
import { toDatasetRow } from './rowStore.ts';
import { type ChoosableRows, ordinalListOf } from './selectRows.ts';

type Tables = Pick<RowTables, 'ranges' | 'page' | 'ids'>;
type Content = Pick<ChoosableRows, 'ownerId' | 'columns'>;

/** The rows at the positions [from, to) of a list of chosen ones, as many of them as a page holds, and at least the first. */
export async function selectedPage(tables: Tables, { ownerId, columns }: Content, storageId: string, from: number, to: number) {
  if (to <= from) return [];
  const [keys, ordinals] = await Promise.all([
    tables.ranges(storageId, storageId, from, to),
    tables.ranges(storageId, ordinalListOf(storageId), from, to),
  ]);
  const rows: DatasetRow[] = [];
  const ordinalOf = numbersOf(ordinals);
  for (const row of await tables.page(ownerId, keys)) rows.push(toDatasetRow(row, columns, ordinalOf.next().value as number));
  return rows;
}

/** Ids of the rows at the positions [from, to) of a list of chosen ones. */
export async function selectedIds(
  tables: Tables,
  { ownerId }: Pick<Content, 'ownerId'>,
  storageId: string,
  from: number,
  to: number,
) {
  return to <= from ? [] : tables.ids(ownerId, await tables.ranges(storageId, storageId, from, to));
}

function* numbersOf(ranges: readonly KeyRange[]): Generator<number, void> {
  for (const { rowKey, count } of ranges) for (let step = 0; step < count; step++) yield rowKey + step;
}
