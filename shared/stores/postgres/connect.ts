import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite, type Results, type Transaction } from '@electric-sql/pglite';
import pg from 'pg';
import { leaveTimeAfter, threadCpuMs } from '../../concurrency/freeTurn.ts';
import { diskProblem } from '../../disk/diskProblem.ts';
import { syncDisk } from '../../disk/diskSync.ts';
import { RequestInvalid, ServiceError } from '../../errors/errors.ts';
import { parseJsonb } from '../../json/parseJson.ts';
import { BrokenTransactions } from './brokenTransactions.ts';
import { migrate } from './migrate.ts';
import { keepInOrder } from './statistics.ts';
import { TimedPool } from './timedPool.ts';

export type Row = Record<string, unknown>;

/** Statements with `$1` parameters. JSON parameters are passed as text (`JSON.stringify`), arrays as arrays, times as ISO text or Date. */
export interface Queries {
  /** Rows as objects: timestamptz as Date (milliseconds), int8 as number, jsonb parsed. */
  query(sql: string, params?: unknown[]): Promise<Row[]>;
  /** The first row, or undefined. */
  maybeOne(sql: string, params?: unknown[]): Promise<Row | undefined>;
  /** Several statements without parameters. */
  exec(sql: string): Promise<void>;
}

export interface Database extends Queries {
  /**
   * Runs `work` in one transaction. It must await only its own statements: the embedded store is a single session.
   * @param first statements without parameters that are sent together with the beginning; `work` gets the rows of each of them, and a signal that
   * aborts when the connection breaks
   */
  transaction<T>(work: (tx: Queries, rows: Row[][], broken: AbortSignal) => Promise<T>, first?: readonly string[]): Promise<T>;
  /** The first row, and the milliseconds that the statement took: of CPU where it is embedded. */
  measured(sql: string, params: unknown[]): Promise<{ row: Row | undefined; tookMs: number }>;
  /** Milliseconds that one statement of a list should take. */
  readonly sliceMs: number;
  /** Rejects when the embedded store cannot go on: it could not write its log, and answers nothing until the process is started again. */
  readonly lost: Promise<never>;
  close(): Promise<void>;
}

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

const databaseLimits: DatabaseLimits = { statementMs: 15_000, silentMs: 18_000, idleMs: 12_000 };

/**
 * Postgres at `url`, or the embedded one (PGlite) in `directory`, with all migrations applied. The embedded one has no limits: it runs on this process's own
 * event loop, where no signal ends a statement. After a long one its caller leaves time to the others.
 */
export async function openDatabase(at: DatabaseServer | { directory: string }): Promise<Database> {
  if (!('url' in at)) {
    const embedded = await openEmbedded(at.directory);
    await migrate(embedded);
    const stop = await keepInOrder(embedded);
    return {
      ...embedded,
      close() {
        stop();
        return embedded.close();
      },
    };
  }
  // A migration of a large table may take long, and those that start beside it wait for it.
  const migrating = await connectServer({ ...at, connections: 1 }, undefined);
  try {
    await migrate(migrating);
  } finally {
    await migrating.close();
  }
  return connectServer(at, at.limits ?? databaseLimits);
}

/**
 * The embedded one takes its shared buffers out of the memory of this process when it opens, whether they are used or not. What it holds are names,
 * versions and states: with its default of 128 MB an idle service took 130 MB more.
 */
const SHARED_BUFFERS = '16MB';
/** A tenth of the default: 3,000 rows of a table are read for its statistics, some 20 ms in which nothing else runs. */
const STATISTICS_TARGET = 10;

/** The embedded one runs a statement at a time, and nothing else of this process meanwhile; a log waits for some three. */
const EMBEDDED_SLICE_MS = 8;
/** A server runs others beside it. */
const SERVER_SLICE_MS = 500;

const pgliteIn = (directory: string): Promise<PGlite> =>
  PGlite.create(directory, {
    startParams: [
      ...PGlite.defaultStartParams,
      ...['-c', `shared_buffers=${SHARED_BUFFERS}`],
      ...['-c', `default_statistics_target=${STATISTICS_TARGET}`],
    ],
    parsers: { [JSON_TYPE]: parseJsonb, [JSONB_TYPE]: parseJsonb },
  });

// Types by the numbers that Postgres gives them.
const INT8_TYPE = 20;
const JSON_TYPE = 114;
const JSONB_TYPE = 3802;
const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map([
  [INT8_TYPE, Number],
  [JSON_TYPE, parseJsonb],
  [JSONB_TYPE, parseJsonb],
]);

/** Makes the store under another name, which it loses when all of it is on the disk: a start that is cut off leaves none, rather than a part of one. */
async function createEmbedded(directory: string): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  await (await pgliteIn(unfinished)).close();
  await syncDisk(unfinished);
  renameSync(unfinished, directory);
}

async function openEmbedded(directory: string): Promise<Database> {
  if (!existsSync(join(directory, 'PG_VERSION'))) await createEmbedded(directory);
  // The lock of the data folder counts. A power cut can leave this file empty, with which Postgres would not start.
  rmSync(join(directory, 'postmaster.pid'), { force: true });
  const lite = await pgliteIn(directory).catch((cause: unknown) => {
    throw new Error(
      `the embedded Postgres in ${directory} cannot be opened (${messageOf(cause)}): its files are damaged; put a copy of the whole data folder back`,
      { cause },
    );
  });
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => undefined); // who opens it may not listen
  let panic: Error | undefined;
  // After a panic the next statement would turn for ever, and the event loop with it.
  const unlessLost = <T>(work: () => Promise<T>): Promise<T> => {
    if (panic) throw unavailable(panic);
    return work().catch((err: unknown) => {
      if (!panic && isPanic(err)) {
        const what = `the embedded Postgres in ${directory} could not write its log (${err.message}): the process must end`;
        panic = new Error(what, { cause: err });
        lost.reject(panic);
      }
      throw err;
    });
  };
  let lastEnded = 0;
  const timed = async <T>(work: () => Promise<T>): Promise<{ value: T; tookMs: number }> => {
    const called = threadCpuMs();
    const value = await unlessLost(work);
    // Statements run one after the other.
    const began = Math.max(called, lastEnded);
    lastEnded = threadCpuMs();
    return { value, tookMs: lastEnded - began };
  };
  const over = (store: PGlite | Transaction, after: (took: number) => Promise<void> | undefined): Queries => {
    const run = async <T>(work: () => Promise<T>): Promise<T> => {
      const { value, tookMs } = await timed(work);
      await after(tookMs);
      return value;
    };
    return queriesOver(
      (sql, params) => run(() => store.query<Row>(sql, params)),
      (sql) => run(() => store.exec(sql)),
    );
  };
  // Others wait for the end of a transaction, which therefore waits for none of them.
  const inTransaction = (tx: Transaction) => over(tx, () => undefined);
  return {
    ...over(lite, leaveTimeAfter),
    transaction: async (work, first) =>
      unlessLost(() =>
        lite.transaction(async (tx: Transaction) =>
          work(inTransaction(tx), first ? rowsOfEach(await tx.exec(first.join('; '))) : [], never),
        ),
      ),
    async measured(sql, params) {
      const { value, tookMs } = await timed(() => lite.query<Row>(sql, params)).catch(rethrow);
      return { row: value.rows[0], tookMs };
    },
    sliceMs: EMBEDDED_SLICE_MS,
    lost: lost.promise,
    close: async () => (panic ? undefined : lite.close()),
  };
}

/** The signal of a connection that cannot break. */
const never = new AbortController().signal;

/** Postgres' word for an error after which the server ends by itself, to be started again: the embedded one cannot. */
const isPanic = (err: unknown): err is Error => err instanceof Error && Reflect.get(err, 'severity') === 'PANIC';

/** Idle connections that stay open: to open one takes several round trips, which the first request after a pause would wait for. */
const KEPT_CONNECTIONS = 3;

async function connectServer(
  { url, connections = 10, onLate, onLost, onWait }: DatabaseServer,
  limits: DatabaseLimits | undefined,
): Promise<Database> {
  const types = {
    getTypeParser: (oid: number, format?: string) => parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
  };
  const pool = new TimedPool(onWait, {
    connectionString: url,
    max: connections,
    min: Math.min(connections, KEPT_CONNECTIONS),
    types: types as pg.CustomTypesConfig,
    connectionTimeoutMillis: 5_000,
    // A peer that is gone without a word is known after some 15 s, also while a connection is idle.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    ...(limits && {
      statement_timeout: limits.statementMs,
      query_timeout: limits.silentMs,
      idle_in_transaction_session_timeout: limits.idleMs,
    }),
  });
  // Without a listener a connection that breaks would end the process. An idle one is replaced at the next query.
  const lost = (err: Error) => onLost?.(err);
  pool.on('error', lost);
  const transactions = new BrokenTransactions((sql, params) => pool.query(sql, params), limits?.idleMs ?? 0);
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
    sliceMs: SERVER_SLICE_MS,
    lost: new Promise<never>(() => undefined),
    close: () => pool.end(),
  };
}

/** The rows of each of several statements that were sent together. */
const rowsOfEach = (results: unknown): Row[][] => [results].flat().map((result) => (result as { rows?: Row[] }).rows ?? []);

function queriesOver(
  run: (sql: string, params: unknown[]) => Promise<Pick<Results<Row>, 'rows'>>,
  exec: (sql: string) => Promise<unknown>,
): Queries {
  const query = async (sql: string, params: unknown[] = []) => (await run(sql, params).catch(rethrow)).rows;
  return {
    query,
    maybeOne: async (sql, params) => (await query(sql, params))[0],
    exec: async (sql) => void (await exec(sql).catch(rethrow)),
  };
}

/** Postgres' `query_canceled`. */
const ENDED_BY_SERVER = '57014';

/** Nothing was heard of a statement in its time; what became of it is not known. */
const isSilent = (err: unknown): err is Error => err instanceof Error && err.message === 'Query read timeout';

/** Class 08 and 57P: the server went away; 08P01 is a statement that it cannot read, our own fault. 22021/22P05: text that Postgres cannot hold (NUL). 22003: a number outside the column's range. */
function rethrow(err: unknown): never {
  const code = (err as { code?: unknown }).code;
  const disk = err instanceof Error ? diskProblem(err) : undefined;
  if (disk && (typeof code !== 'string' || /^(53|58|XX|E)/.test(code))) throw unavailable(err, `cannot store anything: ${disk}`);
  if (typeof code === 'string') {
    if (code === '22021' || code === '22P05')
      throw new RequestInvalid([
        {
          ...{ loc: ['body'], msg: 'text must not contain the NUL character (\\u0000)', type: 'string_nul' },
          named: { texts: ['\u0000'], isPart: true },
        },
      ]);
    if (code === '22003')
      throw new RequestInvalid([
        { loc: ['body'], msg: 'a number is outside the range that can be stored', type: 'number_range' },
      ]);
    if (code === '40001' || code === '40P01')
      throw new ServiceError('Unavailable', 'another change of the same things came in between: try again', {
        cause: err,
        retryAfterSeconds: 1,
      });
    if (
      (code.startsWith('08') && code !== '08P01') ||
      code.startsWith('57P') ||
      code.startsWith('28') || // it does not let us in, since a password was changed, say
      code.startsWith('53') || // disk full, out of memory, too many connections
      code === ENDED_BY_SERVER || // the statement ran into a time limit, or was cancelled by hand
      code === '58030' || // the disk failed
      code === '25006' || // only read: a standby that is not the primary yet
      /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENET)/.test(code)
    )
      throw unavailable(err);
  } else if (
    isSilent(err) ||
    (err instanceof Error &&
      /timeout exceeded when trying to connect|Connection terminated|connection error and is not queryable/.test(err.message))
  ) {
    throw unavailable(err);
  }
  throw err instanceof ServiceError ? err : withoutValues(err);
}

const unavailable = (cause: unknown, what = 'does not answer'): ServiceError =>
  new ServiceError('Unavailable', `the metadata store (Postgres) ${what}: try again`, { cause, retryAfterSeconds: 2 });

/** An error of the driver carries the bound values of its statement, and may quote one in its message: no log may hold them. */
function withoutValues(err: unknown): unknown {
  if (!(err instanceof Error)) return err;
  for (const key of ['params', 'detail', 'where']) Reflect.deleteProperty(err, key);
  const quoted = /: ".*"$/s;
  if (quoted.test(err.message)) {
    const message = err.message.replace(quoted, ': (a value)');
    if (err.stack) err.stack = err.stack.replace(err.message, message);
    err.message = message;
  }
  return err;
}

/** True when `err` is Postgres' unique violation, of `constraint` where one is named. */
export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  const { code, constraint: violated } = err as { code?: unknown; constraint?: unknown };
  return code === '23505' && (constraint === undefined || violated === constraint);
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return 'DATABASE_URL (not a URL)';
  }
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message || err.name : String(err));
