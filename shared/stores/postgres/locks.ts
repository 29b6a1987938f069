import type { WithLocks } from '../../records/recordStore.ts';
import type { Database } from './connect.ts';

/**
 * Locks that hold across processes, for as long as `work` takes. Only for a Postgres server: the embedded one is a single session, and the one
 * process that has it needs no lock of this kind.
 */
export const advisoryLocks =
  (database: Database): WithLocks =>
  (locks, work) =>
    database.transaction(async (tx) => {
      await tx.query(
        `SELECT CASE WHEN shared THEN pg_advisory_xact_lock_shared(key) ELSE pg_advisory_xact_lock(key) END
         FROM (
           SELECT hashtextextended(name, 0) AS key, shared
           FROM unnest($1::text[], $2::boolean[]) WITH ORDINALITY AS locks (name, shared, place)
           ORDER BY place
         ) AS locks`,
        [locks.map(({ name }) => name), locks.map(({ shared }) => shared)],
      );
      return work();
    });
