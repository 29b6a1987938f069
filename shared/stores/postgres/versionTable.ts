import { z } from 'zod';
import type { PageOf } from '../../accounts/accountStore.ts';
import type { Database, Queries } from './database.ts';
import { pageFrom, rowsFor } from './pageOf.ts';

/** The columns that each table of a scorer's versions has. */
export const versionColumns = {
  id: z.string(),
  scorer_id: z.string(),
  version: z.number(),
  created_by: z.string(),
  created_at: z.coerce.date(),
};

interface Made {
  id: string;
  scorerId: string;
  createdBy: string;
}

/**
 * Reads and adds versions in one table.
 * @param column holds what the version says, as JSON
 */
export function versionTable<V>(database: Database, table: string, column: string, Row: z.ZodType<V>) {
  const one = async (where: string, params: unknown[]): Promise<V | undefined> => {
    const row = await database.maybeOne(`SELECT * FROM ${table} WHERE ${where}`, params);
    return row && Row.parse(row);
  };
  return {
    /** Adds the next version. The transaction has a lock on the scorer. */
    async insert(tx: Queries, { id, scorerId, createdBy }: Made, content: object): Promise<V> {
      const row = await tx.maybeOne(
        `INSERT INTO ${table} (id, scorer_id, version, ${column}, created_by)
         SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4 FROM ${table} WHERE scorer_id = $2 RETURNING *`,
        [id, scorerId, JSON.stringify(content), createdBy],
      );
      return Row.parse(row);
    },
    find: (scorerId: string, version: number | 'latest') =>
      version === 'latest'
        ? one('scorer_id = $1 ORDER BY version DESC LIMIT 1', [scorerId])
        : one('scorer_id = $1 AND version = $2', [scorerId, version]),
    findById: (versionId: string) => one('id = $1', [versionId]),
    /** Reads a page of the versions, newest first. */
    async list(scorerId: string, offset: number, limit: number): Promise<PageOf<V>> {
      const rows = await database.query(`SELECT * FROM ${table} WHERE scorer_id = $1 ORDER BY version DESC OFFSET $2 LIMIT $3`, [
        scorerId,
        offset,
        rowsFor(limit),
      ]);
      return pageFrom(z.array(Row).parse(rows), limit);
    },
  };
}
