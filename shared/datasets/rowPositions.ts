import type { RowTables } from './dataset.ts';
import type { RowReader, RowsOfRun } from './rowsOfRun.ts';
import { ordinalListOf } from './selectRows.ts';

/** Ids of rows that are looked through together. */
const IDS_AT_ONCE = 10_000;

/** Where rows with these ids are among the rows of a run. */
export async function positionsOfIds(rows: Pick<RowReader, 'ids'>, run: RowsOfRun, ids: readonly (string | number)[]) {
  const wanted = new Set(ids);
  const positions = new Map<string | number, number>();
  const count = run.rowCount / run.trials;
  for (let from = 0; from < count && positions.size < wanted.size; from += IDS_AT_ONCE) {
    const page = await rows.ids(run, from, Math.min(from + IDS_AT_ONCE, count));
    for (const [index, id] of page.entries()) if (wanted.has(id)) positions.set(id, from + index);
  }
  return positions;
}

/** Where the rows at these ordinals of the source are among the rows of a run, which may be over some of them. */
export async function positionsOfOrdinals(
  tables: Pick<RowTables, 'ranges'>,
  run: RowsOfRun,
  ordinals: readonly (string | number)[],
) {
  const count = run.rowCount / run.trials;
  const wanted = new Set(ordinals.map(Number));
  const positions = new Map<string | number, number>();
  if (!run.selectedRows) {
    for (const ordinal of wanted) if (ordinal < count) positions.set(ordinal, ordinal);
    return positions;
  }
  const { storageId } = run.selectedRows;
  let position = 0;
  for (const { rowKey, count: length } of await tables.ranges(storageId, ordinalListOf(storageId)))
    for (let step = 0; step < length; step++, position++) if (wanted.has(rowKey + step)) positions.set(rowKey + step, position);
  return positions;
}
