import { freeTurn } from '../concurrency/freeTurn.ts';
import { ServiceError } from '../errors/errors.ts';
import { derivedId, newId } from '../identifiers/ids.ts';
import { parseJson } from '../json/parseJson.ts';
import { toCell } from './cells.ts';
import type { Cell, Column, DatasetRow, DatasetStore, DatasetVersion, KeyRange, RowTables, StoredRow } from './dataset.ts';
import { checkColumns, type DatasetLimits } from './limits.ts';

export interface RowDeps {
  datasets: Pick<DatasetStore, 'version' | 'runRows' | 'publishRunRows' | 'forgetRunRows'>;
  rows: RowTables;
  /** Limits of the rows of a run. Absent: the default ones. */
  limits?: DatasetLimits;
}

/** Rows of published versions, of deleted datasets too: a run that uses a version keeps it. */
export interface DatasetRowStore {
  /** The rows [from, to), in order; fewer where the version ends. @throws ServiceError `NotFound` for an unknown version. */
  range(datasetId: string, versionIndex: number, from: number, to: number): Promise<DatasetRow[]>;
  /** As `range`, but as many of them as a page holds, and at least the first. */
  page(datasetId: string, versionIndex: number, from: number, to: number): Promise<DatasetRow[]>;
  /** Ids of the rows [from, to), in order. */
  ids(datasetId: string, versionIndex: number, from: number, to: number): Promise<string[]>;
  rowCount(datasetId: string, versionIndex: number): Promise<number>;
  columnNames(datasetId: string, versionIndex: number): Promise<string[]>;
  /** Keys of the JSON objects in the `input` column, of all rows. */
  inputFields(datasetId: string, versionIndex: number): Promise<string[]>;
}

export function datasetRowStore(deps: RowDeps): DatasetRowStore {
  const version = async (datasetId: string, versionIndex: number) => {
    const found = await deps.datasets.version(datasetId, versionIndex);
    if (!found) throw new ServiceError('NotFound', `dataset ${datasetId} has no version ${versionIndex}`);
    return found;
  };
  return {
    async range(datasetId, versionIndex, from, to) {
      const found = await version(datasetId, versionIndex);
      const rows: DatasetRow[] = [];
      for await (const page of rowPages(deps.rows, found, from, to))
        rows.push(...page.map((row, index) => toDatasetRow(row, found.columns, from + rows.length + index)));
      return rows;
    },
    page: async (datasetId, versionIndex, from, to) => readPage(deps.rows, await version(datasetId, versionIndex), from, to),
    ids: async (datasetId, versionIndex, from, to) => readIds(deps.rows, await version(datasetId, versionIndex), from, to),
    rowCount: async (datasetId, versionIndex) => (await version(datasetId, versionIndex)).numRows,
    columnNames: async (datasetId, versionIndex) => (await version(datasetId, versionIndex)).columns.map(({ name }) => name),
    inputFields: async (datasetId, versionIndex) =>
      (await inputJsonFields(deps.rows, await version(datasetId, versionIndex), 1)).map(({ key }) => key),
  };
}

/** Rows of one run only: the records that were given to it instead of a dataset. */
export interface RunRows {
  /**
   * The rows [from, to), in order: as many of them as a page holds, and at least the first.
   * @throws ServiceError `NotFound` when no rows were stored for this run.
   */
  page(runId: string, from: number, to: number): Promise<DatasetRow[]>;
  /** Ids of the rows [from, to), in order. */
  ids(runId: string, from: number, to: number): Promise<string[]>;
  rowCount(runId: string): Promise<number>;
  columnNames(runId: string): Promise<string[]>;
  inputFields(runId: string): Promise<string[]>;
}

export function rowsOfRuns(deps: RowDeps): RunRows {
  const entry = async (runId: string) => {
    const found = await deps.datasets.runRows(runId);
    if (!found) throw new ServiceError('NotFound', `run ${runId} has no rows of its own`);
    return { ...found, datasetId: found.storageId, contentId: found.storageId };
  };
  return {
    page: async (runId, from, to) => readPage(deps.rows, await entry(runId), from, to),
    ids: async (runId, from, to) => readIds(deps.rows, await entry(runId), from, to),
    rowCount: async (runId) => (await entry(runId)).numRows,
    columnNames: async (runId) => (await entry(runId)).columns.map(({ name }) => name),
    inputFields: async (runId) => (await inputJsonFields(deps.rows, await entry(runId), 1)).map(({ key }) => key),
  };
}

const NOBODY = '00000000-0000-0000-0000-000000000000';

/**
 * Stores records as the rows of one run. A repeat for the same run changes nothing and answers what is stored; a row's id is a pure function of
 * the run and its position.
 */
export async function storeRunRows(
  deps: RowDeps,
  runId: string,
  records: Iterable<Record<string, unknown>> | AsyncIterable<Record<string, unknown>>,
  now: () => Date = () => new Date(),
): Promise<{ rowCount: number; columnNames: string[] }> {
  const answer = ({ numRows, columns }: { numRows: number; columns: Column[] }) => ({
    rowCount: numRows,
    columnNames: columns.map(({ name }) => name),
  });
  const stored = await deps.datasets.runRows(runId);
  if (stored) return answer(stored);
  const storageId = newId();
  const keys = new ColumnKeys();
  const stamp = madeBy(NOBODY, now().toISOString(), 0);
  const rows = async function* () {
    let ordinal = 0;
    for await (const record of records) {
      const cells = Object.entries(record).map(([name, value]) => [name, toCell(value)] as const);
      const row = { rowKey: ordinal, rowId: derivedId(runId, ordinal), cells: keys.cells(cells), ...stamp };
      checkColumns(keys.count, deps.limits, ['body', 'records', ordinal]);
      yield row;
      ordinal += 1;
    }
  };
  const numRows = await insertInBatches(deps.rows, storageId, rows());
  await deps.rows.insertRanges(storageId, storageId, numRows === 0 ? [] : [{ rowKey: 0, count: numRows }]);
  const entry = { storageId, numRows, columns: keys.columns };
  if (await deps.datasets.publishRunRows(runId, entry)) return answer(entry);
  await deps.rows.deleteOwner(storageId);
  return storeRunRows(deps, runId, []);
}

/** Gives each column name its key, new ones in the order they come. */
export class ColumnKeys {
  readonly #byName: Map<string, number>;
  #next: number;

  constructor(known: readonly Column[] = [], next = 0) {
    this.#byName = new Map(known.map(({ key, name }) => [name, key]));
    this.#next = next;
  }

  get columns(): Column[] {
    return [...this.#byName].map(([name, key]) => ({ key, name }));
  }

  get count(): number {
    return this.#byName.size;
  }

  keyOf(name: string): number {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    this.#byName.set(name, this.#next);
    this.#next += 1;
    return this.#next - 1;
  }

  /** Cells as they are stored: by key, without those that hold nothing. */
  cells(cells: Iterable<readonly [string, Cell]>): StoredRow['cells'] {
    const stored: StoredRow['cells'] = {};
    for (const [name, cell] of cells) {
      const key = this.keyOf(name);
      if (cell !== null) stored[key] = cell;
    }
    return stored;
  }
}

/** Returns the stamp of a new row: its author, the time, and the version that it came with. */
export const madeBy = (userId: string, at: string, versionIndex: number) => ({
  createdBy: userId,
  createdAt: at,
  createdInVersion: versionIndex,
  updatedBy: userId,
  updatedAt: at,
  updatedInVersion: versionIndex,
});

// One insert holds at most this much, so that memory stays flat however long the file is, and short rows still go many at a time.
const MAX_ROWS_PER_INSERT = 5_000;
const MAX_CHARACTERS_PER_INSERT = 4_000_000;

/** Stores rows as they come; answers how many. */
export async function insertInBatches(
  tables: RowTables,
  ownerId: string,
  rows: AsyncIterable<StoredRow> | Iterable<StoredRow>,
): Promise<number> {
  let batch: StoredRow[] = [];
  let characters = 0;
  let count = 0;
  for await (const row of rows) {
    batch.push(row);
    count += 1;
    await freeTurn();
    for (const cell of Object.values(row.cells)) characters += typeof cell === 'string' ? cell.length : 50;
    if (batch.length < MAX_ROWS_PER_INSERT && characters < MAX_CHARACTERS_PER_INSERT) continue;
    await tables.insertRows(ownerId, batch);
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) await tables.insertRows(ownerId, batch);
  return count;
}

type Content = Pick<DatasetVersion, 'datasetId' | 'contentId' | 'columns'>;

async function readPage(tables: RowTables, { datasetId, contentId, columns }: Content, from: number, to: number) {
  if (to <= from) return [];
  const stored = await tables.page(datasetId, await tables.ranges(datasetId, contentId, from, to));
  return stored.map((row, index) => toDatasetRow(row, columns, from + index));
}

async function readIds(tables: RowTables, { datasetId, contentId }: Content, from: number, to: number): Promise<string[]> {
  return to <= from ? [] : tables.ids(datasetId, await tables.ranges(datasetId, contentId, from, to));
}

export const toDatasetRow = (row: StoredRow, columns: readonly Column[], ordinal: number): DatasetRow => ({
  rowId: row.rowId,
  ordinal,
  values: Object.fromEntries(columns.map(({ key, name }) => [name, row.cells[key] ?? null])),
});

/** Keys of the JSON objects in a content's `input` column, with sample values. */
export async function inputJsonFields(
  tables: RowTables,
  version: Pick<DatasetVersion, 'datasetId' | 'contentId' | 'columns'>,
  sample: number,
): Promise<{ key: string; values: unknown[] }[]> {
  const input = version.columns.find(({ name }) => name === 'input');
  if (!input) return [];
  const fields = await tables.jsonFields(version.datasetId, version.contentId, input.key, sample);
  return fields.map(({ key, values }) => ({ key, values: values.map((text) => parseJson(text) as unknown) }));
}

/** The rows [from, to) of a version, in pages, for readers that must not hold them all. */
export async function* rowPages(
  tables: RowTables,
  version: Pick<DatasetVersion, 'datasetId' | 'contentId' | 'numRows'>,
  from = 0,
  to = version.numRows,
): AsyncGenerator<StoredRow[], void> {
  const end = Math.min(to, version.numRows);
  for (let start = from; start < end; start += ROWS_PER_PAGE) {
    const ranges = await tables.ranges(version.datasetId, version.contentId, start, Math.min(start + ROWS_PER_PAGE, end));
    yield* pagesOf(tables, version.datasetId, ranges);
  }
}

/** The rows of these ranges, in pages. */
export async function* pagesOf(
  tables: Pick<RowTables, 'page'>,
  ownerId: string,
  ranges: readonly KeyRange[],
): AsyncGenerator<StoredRow[], void> {
  for (let rest = ranges; rest.length > 0; ) {
    const page = await tables.page(ownerId, rest);
    yield page;
    rest = cutRanges(rest, page.length, Number.POSITIVE_INFINITY);
  }
}

/** Cuts the ranges to the rows at the positions [from, to). */
export function cutRanges(ranges: readonly KeyRange[], from: number, to: number): KeyRange[] {
  let position = 0;
  return ranges.flatMap(({ rowKey, count }) => {
    const [first, end] = [Math.max(from - position, 0), Math.min(to - position, count)];
    position += count;
    return end > first ? [{ rowKey: rowKey + first, count: end - first }] : [];
  });
}

/** Rows that are asked for at a time where many are wanted. */
export const ROWS_PER_PAGE = 1000;
