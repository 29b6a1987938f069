import pg from 'pg';
import { z } from 'zod';
import type { WithLocks } from '../../records/recordStore.ts';
import { LocksLost, LocksTaken } from '../../records/writeLocks.ts';
import type { Database } from './database.ts';
import { readRunStates, runStatesSql } from './runStates.ts';

/**
 * Milliseconds between two signs of life of a process that has locks. The server ends a transaction of which it hears nothing (`idleMs` of the
 * database's limits), and its locks with it.
 */
const SIGN_MS = 3_000;
/** Milliseconds for which a sign is good: so long the locks are held without asking. A process that stood still asks. */
const GOOD_MS = 5_000;

/**
 * Locks that hold across processes, for as long as `work` takes and its process lives. Only for a Postgres server: the embedded one is a single
 * session, and the one process that has it needs no lock of this kind.
 */
export const advisoryLocks =
  (database: Database): WithLocks =>
  async (locks, runs, work, waitMs) => {
    const names = `VALUES ${locks.map(({ name, shared }, place) => `(${pg.escapeLiteral(name)}, ${shared}, ${place})`).join(', ')}`;
    const asked = performance.now();
    let isDone = false;
    try {
      return await database.transaction(
        async (tx, rows, broken) => {
          let heardAt = asked;
          let lost: unknown;
          const ask = async () => {
            const now = performance.now();
            try {
              await tx.query('SELECT');
              heardAt = now;
            } catch (err) {
              lost ??= err;
            }
          };
          const signs = setInterval(() => void ask(), SIGN_MS);
          try {
            const result = await work({
              refused: new Set(waitMs > 0 ? [] : LockRows.parse(rows[0]).flatMap(({ name, taken }) => (taken ? [] : [name]))),
              states: runs.length === 0 ? undefined : readRunStates(rows.at(-1) ?? []),
              async confirm() {
                if (!lost && performance.now() - heardAt > GOOD_MS) await ask();
                if (lost || broken.aborted) throw new LocksLost(lost ?? broken.reason);
              },
            });
            isDone = true;
            return result;
          } finally {
            clearInterval(signs);
          }
        },
        [
          ...(waitMs > 0 ? [`SET LOCAL lock_timeout = ${waitMs}`, takeSql(names, '')] : [takeSql(names, 'try_')]),
          // A statement of its own, which sees what was committed before the locks were had.
          ...(runs.length === 0 ? [] : [runStatesSql(runs)]),
        ],
      );
    } catch (err) {
      // Their end is the end of the transaction, which fails where they were lost before.
      if (isDone) throw new LocksLost(err);
      if (err instanceof Error && [err, err.cause].some((one) => (one as { code?: unknown } | undefined)?.code === LOCK_TIMEOUT))
        throw new LocksTaken(err);
      throw err;
    }
  };

const LockRows = z.array(z.object({ name: z.string(), taken: z.boolean() }));

/** Postgres' `lock_not_available`. */
const LOCK_TIMEOUT = '55P03';

const takeSql = (names: string, kind: '' | 'try_'): string =>
  `SELECT name, CASE WHEN shared THEN pg_${kind}advisory_xact_lock_shared(key) ELSE pg_${kind}advisory_xact_lock(key) END AS taken
   FROM (
     SELECT name, hashtextextended(name, 0) AS key, shared
     FROM (${names}) AS locks (name, shared, place) ORDER BY place
   ) AS locks`;
