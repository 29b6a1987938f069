import { z } from 'zod';
import type { Retention, RetentionStore } from '../../projects/retention.ts';
import type { Database, Row } from './database.ts';

const RetentionRow = z
  .object({ retention_days: z.number().nullable(), expired_before: z.string().nullable() })
  .transform((row): Retention => ({ days: row.retention_days, expiredBefore: row.expired_before }));

// Days of 24 hours, whatever the server's time zone does; microseconds, as records have them.
const columns = `retention_days, to_char((now() - retention_days * interval '24 hours') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expired_before`;

const parsed = (row: Row | undefined): Retention | undefined => row && RetentionRow.parse(row);

/** How long projects keep their records. */
export const postgresRetention = (database: Database): RetentionStore => ({
  get: async (projectId) => parsed(await database.maybeOne(`SELECT ${columns} FROM projects WHERE id = $1`, [projectId])),
  async set(projectId, days) {
    // From here on it is known whether the clock jumps.
    await database.query('INSERT INTO sweep_clock (last_at) VALUES (clock_timestamp()) ON CONFLICT DO NOTHING');
    return parsed(
      await database.maybeOne(`UPDATE projects SET retention_days = $2, updated_at = now() WHERE id = $1 RETURNING ${columns}`, [
        projectId,
        days,
      ]),
    );
  },
  async projects(after, limit) {
    const rows = await database.query(
      'SELECT id FROM projects WHERE retention_days IS NOT NULL AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT $2',
      [after ?? null, limit],
    );
    return rows.map(({ id }) => z.string().parse(id));
  },
});
