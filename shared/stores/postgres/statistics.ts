import { setImmediate as nextLoop } from 'node:timers/promises';
import { z } from 'zod';
import type { Queries } from './database.ts';

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

/** Dead rows of a table that are left to it, beside a twentieth of the others: to clear as many takes some 20 ms of 100,000 rows. */
const DEAD_ROWS = 1_000;
/** Transactions after which rows are frozen. Postgres takes no more writes after 2,000,000,000, which are 6 years at ten a second. */
const FROZEN_AFTER = 200_000_000;

const CLUTTERED = `SELECT c.oid::regclass::text AS name FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
  WHERE c.relkind = 'r' AND c.relpersistence = 'p'
    AND (s.n_dead_tup > ${DEAD_ROWS} + 0.05 * greatest(c.reltuples, 0) OR age(c.relfrozenxid) > ${FROZEN_AFTER})`;

/** Frees what is left of changed and deleted rows in the tables where it is much, one after the other, and lets others in between. */
export async function clearDead(database: Queries): Promise<void> {
  const names = (await database.query(CLUTTERED)).map((row) => z.string().parse(row.name));
  for (const name of names) {
    await nextLoop();
    await database.exec(`VACUUM ${name}`);
  }
}

/**
 * Does what autovacuum does, which an embedded Postgres lacks. Without statistics the planner takes a large table for a small one, and sorts all of it for
 * a page; they are there when it returns. Dead rows are cleared from the first minute on. The function that it returns ends it.
 */
export async function keepInOrder(database: Queries): Promise<() => void> {
  // A statement that fails here fails elsewhere, too, and is reported there.
  const unlessFails = (work: Promise<void>) => work.catch(() => undefined);
  await unlessFails(analyzeChanged(database));
  const timer = setInterval(() => unlessFails(analyzeChanged(database).then(() => clearDead(database))), EVERY_MS).unref();
  return () => clearInterval(timer);
}
