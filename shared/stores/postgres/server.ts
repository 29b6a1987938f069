import pg from 'pg';
import { ServiceError } from '../../errors/errors.ts';
import { BrokenTransactions } from './brokenTransactions.ts';
import { type Database, jsonParsers, type Queries, queriesOver, rowsOfEach } from './database.ts';
import { ENDED_BY_SERVER, isSilent, messageOf, rethrow } from './databaseErrors.ts';
import { TimedPool } from './timedPool.ts';

export interface DatabaseServer {
  url: string;
  /** Most connections; 10 when absent. */
  connections?: number;
  /** When statements are given up; `databaseLimits` where absent. */
  limits?: DatabaseLimits;
  /** Hears of every statement that was given up, by its text, which holds no values. */
  onLate?: (sql: string, err: Error) => void;
  /** Gets the seconds that a statement waited for a connection that was not free. */
  onWait?: (seconds: number) => void;
  /** Hears of every connection that breaks, idle or within a transaction. */
  onLost?: (err: Error) => void;
}

export interface DatabaseLimits {
  /** Milliseconds after which the server ends a statement, a wait for a lock included, and undoes it. */
  statementMs: number;
  /** Milliseconds after which a connection is closed on which nothing was heard of a statement. More than the server's own limit. */
  silentMs: number;
  /** Milliseconds after which the server ends a transaction that waits for its next statement: its process may be gone without a word, with its locks held. */
  idleMs: number;
}

export const databaseLimits: DatabaseLimits = { statementMs: 15_000, silentMs: 18_000, idleMs: 12_000 };

/** A server runs other statements beside a long one. */
const SLICE_MS = 500;

const parsers: Readonly<Record<number, (text: string) => unknown>> = { [pg.types.builtins.INT8]: Number, ...jsonParsers };

/** Idle connections that stay open: to open one takes several round trips, which the first request after a pause would wait for. */
const KEPT_CONNECTIONS = 3;

/**
 * Opens a pool of connections to the server.
 * @param limits absent: statements take as long as they need
 * @throws ServiceError `Unavailable` when the server does not answer
 */
export async function connectServer(
  { url, connections = 10, onLate, onLost, onWait }: DatabaseServer,
  limits: DatabaseLimits | undefined,
): Promise<Database> {
  const types = {
    getTypeParser: (oid: number, format?: string) => parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
  };
  const server: pg.ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    // A peer that is gone without a word is known after some 15 s, also while a connection is idle.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    ...(limits && {
      statement_timeout: limits.statementMs,
      query_timeout: limits.silentMs,
      idle_in_transaction_session_timeout: limits.idleMs,
    }),
  };
  const pool = new TimedPool(onWait, {
    ...server,
    max: connections,
    min: Math.min(connections, KEPT_CONNECTIONS),
    types: types as pg.CustomTypesConfig,
  });
  // Without a listener a connection that breaks would end the process. An idle one is replaced at the next query.
  const lost = (err: Error) => onLost?.(err);
  pool.on('error', lost);
  const transactions = new BrokenTransactions(server, limits ? limits.statementMs + limits.idleMs : 0);
  pool.on('connect', (client) => transactions.connected(client));
  try {
    await pool.query('SELECT 1');
  } catch (cause) {
    await pool.end();
    throw new ServiceError(
      'Unavailable',
      `cannot reach Postgres at ${hostOf(url)}: start it or correct DATABASE_URL (${messageOf(cause)})`,
      { cause },
    );
  }
  const reportLate =
    (sql: string) =>
    (err: unknown): never => {
      if (err instanceof Error && (isSilent(err) || Reflect.get(err, 'code') === ENDED_BY_SERVER)) onLate?.(sql, err);
      throw err;
    };
  const over = (run: pg.Pool | pg.PoolClient): Queries =>
    queriesOver(
      (sql, params) => run.query(sql, params).catch(reportLate(sql)),
      (sql) => run.query(sql).catch(reportLate(sql)),
    );
  const queries = over(pool);
  return {
    ...queries,
    async measured(sql, params) {
      const began = performance.now();
      return { row: await queries.maybeOne(sql, params), tookMs: performance.now() - began };
    },
    async transaction(work, first) {
      const client = await pool.connect().catch(rethrow);
      // One that breaks between two statements fails the next one, which does not know why.
      const broken = new AbortController();
      const breaks = (err: Error) => {
        broken.abort(err);
        transactions.broke(client);
        lost(err);
      };
      client.on('error', breaks);
      const release = (err?: Error) => {
        client.off('error', breaks);
        client.release(err);
      };
      const tx = over(client);
      try {
        const begin = ['BEGIN', ...(first ?? [])].join('; ');
        const begun = await client.query(begin).catch(reportLate(begin)).catch(rethrow);
        const value = await work(tx, rowsOfEach(begun).slice(1), broken.signal);
        await tx.exec('COMMIT');
        release();
        return value;
      } catch (err) {
        if (err instanceof ServiceError && isSilent(err.cause)) {
          transactions.broke(client);
          release(err.cause);
        } else await client.query('ROLLBACK').then(() => release(), release);
        throw err;
      }
    },
    sliceMs: SLICE_MS,
    lost: new Promise<never>(() => undefined),
    close: () => pool.end(),
  };
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return 'DATABASE_URL (not a URL)';
  }
}
