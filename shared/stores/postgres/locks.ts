import type { WithLocks } from '../../records/recordStore.ts';
import type { Database } from './connect.ts';

/**
 * Locks that hold across processes, for as long as `work` takes. Only for a Postgres server: the embedded one is a single session, and the one
 * process that has it needs no lock of this kind. Keys are taken in one order, so that two takers never wait for each other.
 */
export const advisoryLocks =
  (database: Database): WithLocks =>
  (keys, work, shared = []) =>
    database.transaction(async (tx) => {
      // Those that are shared come first: who waits for one has nothing yet that another waits for.
      if (shared.length > 0)
        await tx.query(
          'SELECT pg_advisory_xact_lock_shared(key) FROM (SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest($1::text[]) AS name ORDER BY 1) AS keys',
          [[...shared]],
        );
      await tx.query(
        'SELECT pg_advisory_xact_lock(key) FROM (SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest($1::text[]) AS name ORDER BY 1) AS keys',
        [[...keys]],
      );
      return work();
    });
