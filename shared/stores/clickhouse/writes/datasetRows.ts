import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { KeyRange, RowTables, StoredRow } from '../../../datasets/dataset.ts';
import { cutRanges } from '../../../datasets/rowStore.ts';
import { ServiceError } from '../../../errors/errors.ts';
import { newId } from '../../../identifiers/ids.ts';
import { parseJson } from '../../../json/parseJson.ts';
import { timeOfColumn, timeParam } from '../binder.ts';
import type { ClickHouse, ClickHouseRead } from '../clickHouse.ts';
import { contentConditions, orderedKeys } from '../reads/contentConditions.ts';
import { selectedRows } from '../reads/selectedRows.ts';

/**
 * Rows at keys that are given out once, and per content the list of ranges of keys that makes its order: rows [a, b) of a version are a range
 * of the first table's key, however long the dataset is. An edit writes the new rows and a short list; it copies no row.
 */
const ddl = [
  `CREATE TABLE IF NOT EXISTS dataset_rows (
    owner_id UUID CODEC(ZSTD(1)),
    row_key UInt64 CODEC(Delta, ZSTD(1)),
    row_id UUID,
    cells String CODEC(ZSTD(1)),
    created_in_version UInt32 CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by UUID CODEC(ZSTD(1)),
    updated_in_version UInt32 CODEC(ZSTD(1)),
    updated_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_by UUID CODEC(ZSTD(1)),
    INDEX by_row_id row_id TYPE bloom_filter(0.01) GRANULARITY 1
  ) ENGINE = MergeTree ORDER BY (owner_id, row_key) SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000`,
  `CREATE TABLE IF NOT EXISTS dataset_row_ranges (
    owner_id UUID CODEC(ZSTD(1)),
    content_id UUID CODEC(ZSTD(1)),
    ordinal UInt64 CODEC(Delta, ZSTD(1)),
    row_key UInt64 CODEC(Delta, ZSTD(1)),
    count UInt64 CODEC(ZSTD(1))
  ) ENGINE = MergeTree ORDER BY (owner_id, content_id, ordinal) SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000`,
];

/** Creates the tables of dataset rows where they are missing. Releases before had the ranges under another name. */
export async function datasetRowTables(clickhouse: ClickHouse): Promise<void> {
  const ranges = await clickhouse.query({
    name: 'tables of dataset ranges',
    sql: "SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN ('dataset_stretches', 'dataset_row_ranges')",
    row: (row) => (row as { name: string }).name,
  });
  if (ranges.length === 1)
    await clickhouse.command({
      name: 'rename dataset ranges',
      sql: 'RENAME TABLE IF EXISTS dataset_stretches TO dataset_row_ranges',
    });
  for (const sql of ddl) await clickhouse.command({ name: 'create dataset rows', sql });
}

const count = z.coerce.number().int();
const KeyRangeRow = z
  .object({ ordinal: count, row_key: count, count })
  .transform((row) => ({ ordinal: row.ordinal, rowKey: row.row_key, count: row.count }));
/** A row of the table: 64-bit integers as text. */
type RowOfTable = Record<string, string | number>;

type Form = [read: (stored: never) => unknown, write: (value: never) => string | number];
const asItIs: Form = [(stored) => stored, (value) => value];
const time: Form = [timeOfColumn, timeParam];

/** Its columns, with the fields of rows that they hold. Rows are many, and only this file writes them: they are not checked. */
const columns: readonly [column: string, field: keyof StoredRow, form: Form][] = [
  ['row_key', 'rowKey', [Number, String]],
  ['row_id', 'rowId', asItIs],
  ['cells', 'cells', [parseJson, JSON.stringify]],
  ['created_in_version', 'createdInVersion', asItIs],
  ['created_at', 'createdAt', time],
  ['created_by', 'createdBy', asItIs],
  ['updated_in_version', 'updatedInVersion', asItIs],
  ['updated_at', 'updatedAt', time],
  ['updated_by', 'updatedBy', asItIs],
];

function toStoredRow(row: RowOfTable): StoredRow {
  const stored: Partial<Record<keyof StoredRow, unknown>> = {};
  for (const [column, field, [read]] of columns) stored[field] = read(row[column] as never);
  return stored as StoredRow;
}

/** One after the other, as each is written: they may be many. */
function* rowsOfTable(ownerId: string, rows: readonly StoredRow[]): Generator<RowOfTable, void> {
  for (const stored of rows) {
    const row: RowOfTable = { owner_id: ownerId };
    for (const [column, field, [, write]] of columns) row[column] = write(stored[field] as never);
    yield row;
  }
}

/** Bytes of rows that the engine gives at a time. As text and as values of this process they take some three times as much. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** An owner of whom this many rows fit on a page is asked for all rows that are wanted. */
const MANY_ROWS = 1_000;
/** Owners whose rows' size is remembered. */
const MAX_KNOWN_SIZES = 1_000;

/** Each row of two contents, by its id: a row is stored once for each of its states, so another key of the same id is an edit. */
const rowsOfTwo = `
  SELECT stored.row_id AS row_id, max(content = {from:UUID}) AS was, max(content = {to:UUID}) AS is,
    maxIf(stored.row_key, content = {from:UUID}) AS before, maxIf(stored.row_key, content = {to:UUID}) AS after,
    maxIf(keys.ordinal, content = {from:UUID}) AS ordinal_before, maxIf(keys.ordinal, content = {to:UUID}) AS ordinal_after
  FROM (SELECT row_key, row_id FROM dataset_rows WHERE owner_id = {owner:UUID}) AS stored
  INNER JOIN (
    SELECT content_id AS content, row_key + step AS row_key, ordinal + step AS ordinal FROM dataset_row_ranges ARRAY JOIN range(count) AS step
    WHERE owner_id = {owner:UUID} AND content_id IN ({from:UUID}, {to:UUID})
  ) AS keys ON keys.row_key = stored.row_key
  GROUP BY stored.row_id`;

const TwoPlaces = z.object({
  ...{ row_id: z.string(), was: z.coerce.boolean(), is: z.coerce.boolean() },
  ...{ before: count, after: count, ordinal_before: count, ordinal_after: count },
});

export function datasetRows(clickhouse: ClickHouse): RowTables {
  /** Rows of an owner that a page took lately: where they are large, the next page is asked for so many and not for all. */
  const fitting = new LRUCache<string, number>({ max: MAX_KNOWN_SIZES });

  const read = async <T>(
    what: Pick<ClickHouseRead<T>, 'name' | 'settings' | 'row'>,
    names: string,
    ownerId: string,
    ranges: readonly KeyRange[],
  ) => {
    const starts = ranges.map(({ rowKey }) => rowKey);
    const lengths = ranges.map(({ count: length }) => length);
    return clickhouse.query({
      ...what,
      sql: `SELECT ${names}
        FROM dataset_rows WHERE owner_id = {owner:UUID} AND row_key BETWEEN {first:UInt64} AND {last:UInt64}
          AND row_key IN (SELECT arrayJoin(arrayFlatten(arrayMap((start, length) -> range(start, start + length), {starts:Array(UInt64)}, {lengths:Array(UInt64)}))))`,
      params: {
        owner: ownerId,
        first: starts.reduce((a, b) => Math.min(a, b)),
        last: ranges.reduce((last, { rowKey, count: length }) => Math.max(last, rowKey + length - 1), 0),
        starts,
        lengths,
      },
    });
  };

  /** In the order of the ranges. */
  const inOrder = <T extends { rowKey: number }>(found: readonly T[], ownerId: string, ranges: readonly KeyRange[]): T[] => {
    const byKey = new Map(found.map((row) => [row.rowKey, row]));
    return ranges.flatMap(({ rowKey, count: length }) =>
      Array.from({ length }, (_, step) => {
        const row = byKey.get(rowKey + step);
        if (!row) throw new Error(`dataset ${ownerId} lacks its row at key ${rowKey + step}`);
        return row;
      }),
    );
  };

  return {
    ...selectedRows(clickhouse),

    async insertRows(ownerId, rows) {
      await clickhouse.insert({ table: 'dataset_rows', token: newId(), rows: rowsOfTable(ownerId, rows) });
    },

    async insertRanges(ownerId, contentId, ranges) {
      let ordinal = 0;
      const rows = ranges.map(({ rowKey, count: length }) => {
        const row = { owner_id: ownerId, content_id: contentId, ordinal, row_key: rowKey, count: length };
        ordinal += length;
        return row;
      });
      await clickhouse.insert({ table: 'dataset_row_ranges', token: newId(), rows });
    },

    async ranges(ownerId, contentId, from = 0, to = Number.MAX_SAFE_INTEGER) {
      const found = await clickhouse.query({
        name: 'dataset ranges',
        sql: `SELECT ordinal, row_key, count FROM dataset_row_ranges
          WHERE owner_id = {owner:UUID} AND content_id = {content:UUID} AND ordinal < {to:UInt64} AND ordinal + count > {from:UInt64}
          ORDER BY ordinal`,
        params: { owner: ownerId, content: contentId, from, to },
        row: KeyRangeRow,
      });
      return found.map(({ ordinal, rowKey, count: length }): KeyRange => {
        const skipped = Math.max(0, from - ordinal);
        return { rowKey: rowKey + skipped, count: Math.min(ordinal + length, to) - ordinal - skipped };
      });
    },

    async page(ownerId, ranges) {
      if (ranges.length === 0) return [];
      const total = ranges.reduce((sum, { count: length }) => sum + length, 0);
      let wanted = Math.min(total, fitting.get(ownerId) ?? total);
      for (;;) {
        const some = cutRanges(ranges, 0, wanted);
        // A row that is larger than a page is one.
        const limit = wanted > 1 ? { max_result_bytes: PAGE_BYTES, result_overflow_mode: 'throw' } : {};
        let bytes = 0;
        const row = (given: unknown) => {
          bytes += String((given as RowOfTable).cells).length;
          return toStoredRow(given as RowOfTable);
        };
        try {
          const found = await read(
            { name: 'dataset rows', settings: limit, row },
            columns.map(([column]) => column).join(', '),
            ownerId,
            some,
          );
          const fits = Math.max(1, Math.floor((wanted * PAGE_BYTES) / (2 * bytes)));
          if (fits < MANY_ROWS) fitting.set(ownerId, fits);
          else fitting.delete(ownerId);
          return inOrder(found, ownerId, some);
        } catch (err) {
          if (wanted === 1 || !(err instanceof ServiceError && err.code === 'QueryTooExpensive')) throw err;
          wanted = Math.ceil(wanted / 2);
        }
      }
    },

    async ids(ownerId, ranges) {
      if (ranges.length === 0) return [];
      const row = z
        .object({ row_key: count, row_id: z.string() })
        .transform((one) => ({ rowKey: one.row_key, rowId: one.row_id }));
      const found = await read({ name: 'dataset row ids', row }, 'row_key, row_id', ownerId, ranges);
      return inOrder(found, ownerId, ranges).map(({ rowId }) => rowId);
    },

    async keysOf(ownerId, rowIds) {
      if (rowIds.length === 0) return [];
      return clickhouse.query({
        name: 'dataset row keys',
        sql: 'SELECT row_key, row_id FROM dataset_rows WHERE owner_id = {owner:UUID} AND row_id IN {ids:Array(UUID)}',
        params: { owner: ownerId, ids: [...rowIds] },
        row: z.object({ row_key: count, row_id: z.string() }).transform((row) => ({ rowKey: row.row_key, rowId: row.row_id })),
      });
    },

    async find(ownerId, contentId, query, page) {
      const { conditions, order, params } = contentConditions(query);
      const { rows, total } = await clickhouse.page({
        name: 'dataset content query',
        sql: `SELECT keys.ordinal AS ordinal, stored.row_key AS row_key FROM dataset_rows AS stored INNER JOIN (${orderedKeys}) AS keys ON keys.row_key = stored.row_key
          WHERE stored.owner_id = {owner:UUID}${conditions.map((condition) => ` AND ${condition}`).join('')}
          ORDER BY ${order} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
        params: { ...params, owner: ownerId, content: contentId, limit: page.limit, offset: page.from },
        row: z.object({ ordinal: count, row_key: count }).transform((row) => ({ ordinal: row.ordinal, rowKey: row.row_key })),
      });
      return { found: rows, total };
    },

    async jsonFields(ownerId, contentId, columnKey, sample) {
      const input = `if(JSONType(cells, {key:String}) = 'String', JSONExtractString(cells, {key:String}), JSONExtractRaw(cells, {key:String}))`;
      return clickhouse.query({
        name: 'dataset input fields',
        sql: `SELECT field.1 AS key, groupUniqArray(${sample})(field.2) AS values
          FROM (SELECT cells, row_key FROM dataset_rows WHERE owner_id = {owner:UUID}) AS stored
          INNER JOIN (${orderedKeys}) AS keys ON keys.row_key = stored.row_key
          ARRAY JOIN JSONExtractKeysAndValuesRaw(${input}) AS field
          GROUP BY key ORDER BY min(keys.ordinal), key LIMIT 1000`,
        params: { owner: ownerId, content: contentId, key: String(columnKey) },
        row: z.object({ key: z.string(), values: z.array(z.string()) }),
      });
    },

    async rowChanges(ownerId, from, to) {
      const [changes] = await clickhouse.query({
        name: 'changes of dataset rows',
        sql: `SELECT countIf(NOT was) AS added, countIf(NOT is) AS removed, countIf(was AND is AND before != after) AS edited FROM (${rowsOfTwo})`,
        params: { owner: ownerId, from, to },
        row: z.object({ added: count, removed: count, edited: count }),
      });
      const { added, removed, edited } = changes ?? { added: 0, removed: 0, edited: 0 };
      return { rowsAdded: added, rowsRemoved: removed, rowsEdited: edited };
    },

    async changedRows(ownerId, from, to, page) {
      const place = (is: boolean, ordinal: number, rowKey: number) => (is ? { ordinal, rowKey } : undefined);
      return clickhouse.query({
        name: 'dataset rows that changed',
        sql: `SELECT * FROM (${rowsOfTwo}) WHERE NOT was OR NOT is OR before != after
          ORDER BY if(is, ordinal_after, ordinal_before), is, row_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
        params: { owner: ownerId, from, to, limit: page.limit, offset: page.from },
        row: TwoPlaces.transform((row) => ({
          rowId: row.row_id,
          before: place(row.was, row.ordinal_before, row.before),
          after: place(row.is, row.ordinal_after, row.after),
        })),
      });
    },

    async deleteOwner(ownerId) {
      // A delete rewrites parts, in about 300 ms even where it finds nothing: asked first, as most broken uploads have stored no row.
      for (const table of ['dataset_row_ranges', 'dataset_rows']) {
        const where = 'owner_id = {owner:UUID}';
        const params = { owner: ownerId };
        const any = await clickhouse.query({
          name: 'any dataset row',
          sql: `SELECT 1 FROM ${table} WHERE ${where} LIMIT 1`,
          params,
          row: (row) => row,
        });
        if (any.length > 0) await clickhouse.deleteFrom({ table, where, params }).gone;
      }
    },
  };
}
