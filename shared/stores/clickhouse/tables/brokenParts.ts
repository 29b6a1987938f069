import { z } from 'zod';
import type { ClickHouse } from '../clickHouse.ts';

const BrokenParts = z.object({ table: z.string(), parts: z.coerce.number() }).transform(({ table, parts }) => ({ table, parts }));

/**
 * Tables of which the engine has set parts aside as broken, with what they hold. A part that a merge had made does not count while parts of the same
 * blocks are there: the engine took those that had been merged into it.
 */
const sql = `
  SELECT detached.table AS table, count() AS parts
  FROM system.detached_parts AS detached
  WHERE detached.database = currentDatabase() AND startsWith(ifNull(detached.reason, ''), 'broken')
    AND (detached.level = 0 OR detached.level IS NULL OR (detached.table, detached.name) NOT IN (
      SELECT broken.table, broken.name
      FROM system.detached_parts AS broken
      INNER JOIN system.parts AS present ON present.table = broken.table
      WHERE broken.database = currentDatabase() AND present.database = currentDatabase() AND present.active
        AND present.min_block_number <= broken.max_block_number AND present.max_block_number >= broken.min_block_number
    ))
  GROUP BY table ORDER BY table`;

/** A sentence for each table that lacks what was in parts that are broken. */
export async function brokenParts(clickhouse: ClickHouse): Promise<string[]> {
  const broken = await clickhouse.query({ name: 'broken parts', sql, row: BrokenParts });
  return broken.map(
    ({ table, parts }) =>
      `${parts} ${parts === 1 ? 'part' : 'parts'} of the table ${table} ${parts === 1 ? 'is' : 'are'} broken and set aside (its folder detached): what ${parts === 1 ? 'it holds' : 'they hold'} is missing`,
  );
}
