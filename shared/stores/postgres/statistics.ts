import { setImmediate as nextLoop } from 'node:timers/promises';
import { z } from 'zod';
import type { Queries } from './connect.ts';

/** How often tables are looked through for changes. */
const EVERY_MS = 60_000;

/** Tables that were never analyzed, or have become a fifth larger since. Their sizes are known after any end of the process, unlike counts of changes. */
const CHANGED = `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
  AND pg_relation_size(oid) > CASE WHEN reltuples < 0 THEN 0 ELSE 1.2 * relpages * current_setting('block_size')::int END`;

/** Counts what is in the tables that have changed, one after the other, and lets others in between. */
export async function analyzeChanged(database: Queries): Promise<void> {
  const names = (await database.query(CHANGED)).map((row) => z.string().parse(row.name));
  for (const name of names) {
    await nextLoop();
    await database.exec(`ANALYZE ${name}`);
  }
}

/**
 * Keeps the statistics of an embedded Postgres, which has no autovacuum: without them the planner takes a large table for a small one, and sorts all
 * of it for a page. They are there when it returns; the function that it returns ends it.
 */
export async function keepStatistics(database: Queries): Promise<() => void> {
  // A statement that fails here fails elsewhere, too, and is reported there.
  const analyze = () => analyzeChanged(database).catch(() => undefined);
  await analyze();
  const timer = setInterval(analyze, EVERY_MS).unref();
  return () => clearInterval(timer);
}
