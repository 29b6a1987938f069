import { z } from 'zod';
import type { RowChoice, RowTables } from '../../../datasets/dataset.ts';
import type { ClickHouse, ParamValue } from '../clickHouse.ts';
import { contentConditions, orderedKeys } from './contentConditions.ts';

const count = z.coerce.number().int();

/** Every row of a content with the ordinal at which its range begins. */
const keysInRanges = `SELECT row_key + step AS row_key, ordinal + step AS ordinal, dataset_row_ranges.ordinal AS range_start FROM dataset_row_ranges
  ARRAY JOIN range(count) AS step WHERE owner_id = {owner:UUID} AND content_id = {content:UUID}`;

/** Keys, or ordinals, of the list that a choice is like. */
const LISTED = `SELECT row_key + step FROM dataset_row_ranges ARRAY JOIN range(count) AS step WHERE owner_id = {likeOwner:UUID} AND content_id = {likeContent:UUID}`;

/** Choosing rows, all of it in the engine: rows are many. */
export const selectedRows = (clickhouse: ClickHouse): Pick<RowTables, 'select' | 'ordinalsOf'> => ({
  async select({ ownerId, contentId }, choice, into) {
    const { chosen, params } = chosenRows(choice);
    await clickhouse.command({
      keepsRecords: true,
      name: 'select rows',
      // Rows side by side in the content are one range: then position, ordinal and key rise together.
      sql: `INSERT INTO dataset_row_ranges (owner_id, content_id, ordinal, row_key, count)
        SELECT {into:UUID}, list.1, position, list.2, length
          FROM (SELECT min(nth) AS position, min(row_key) AS first_key, min(ordinal) AS first_ordinal, count() AS length
                  FROM (SELECT row_number() OVER (ORDER BY ordinal) - 1 AS nth, row_key, ordinal, range_start FROM (${chosen}))
                 GROUP BY range_start, ordinal - nth)
          ARRAY JOIN [({keys:UUID}, first_key), ({ordinals:UUID}, first_ordinal)] AS list`,
      params: { ...params, owner: ownerId, content: contentId, into: into.ownerId, keys: into.keys, ordinals: into.ordinals },
    });
    const [selected] = await clickhouse.query({
      name: 'count of selected rows',
      sql: 'SELECT sum(count) AS total FROM dataset_row_ranges WHERE owner_id = {into:UUID} AND content_id = {keys:UUID}',
      params: { into: into.ownerId, keys: into.keys },
      row: z.object({ total: count }),
    });
    return selected?.total ?? 0;
  },

  async ordinalsOf(ownerId, contentId, rowIds) {
    return clickhouse.query({
      name: 'ordinals of dataset rows',
      sql: `SELECT keys.ordinal AS ordinal, stored.row_id AS row_id FROM (${orderedKeys}) AS keys
        INNER JOIN (SELECT row_key, row_id FROM dataset_rows WHERE owner_id = {owner:UUID} AND row_id IN {ids:Array(UUID)}) AS stored
          ON stored.row_key = keys.row_key`,
      params: { owner: ownerId, content: contentId, ids: [...rowIds] },
      row: z.object({ ordinal: count, row_id: z.string() }).transform((row) => ({ ordinal: row.ordinal, rowId: row.row_id })),
    });
  },
});

/** The rows of a choice as SQL, with `row_key`, `ordinal` and `range_start`. */
function chosenRows({ filters, ordinals, like, sample, limit }: RowChoice): {
  chosen: string;
  params: Record<string, ParamValue>;
} {
  const { conditions, params } = contentConditions({ filters, sort: null });
  const readsRows = filters.length > 0 || like?.by === 'id' || sample?.by === 'id';
  if (ordinals) {
    conditions.push('keys.ordinal IN {listed:Array(UInt64)}');
    params.listed = ordinals;
  }
  if (like) {
    conditions.push(
      like.by === 'ordinal'
        ? `keys.ordinal IN (${LISTED})`
        : `stored.row_id IN (SELECT row_id FROM dataset_rows WHERE owner_id = {owner:UUID} AND row_key IN (${LISTED}))`,
    );
    Object.assign(params, { likeOwner: like.ownerId, likeContent: like.contentId });
  }
  if (readsRows) conditions.push('stored.owner_id = {owner:UUID}');
  const from = readsRows
    ? `dataset_rows AS stored INNER JOIN (${keysInRanges}) AS keys ON keys.row_key = stored.row_key`
    : `(${keysInRanges}) AS keys`;
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  let chosen = `SELECT keys.row_key AS row_key, keys.ordinal AS ordinal, keys.range_start AS range_start FROM ${from}${where}`;
  if (sample) {
    // By what the row is, not by its position: another version gives the same rows.
    chosen += ` ORDER BY sipHash64({seed:UInt64}, ${sample.by === 'id' ? 'toString(stored.row_id)' : 'keys.ordinal'}), keys.ordinal LIMIT {size:UInt64}`;
    Object.assign(params, { seed: sample.seed, size: sample.size });
  }
  if (limit !== undefined) {
    chosen = `SELECT row_key, ordinal, range_start FROM (${chosen}) ORDER BY ordinal LIMIT {limit:UInt64}`;
    params.limit = limit;
  }
  return { chosen, params };
}
