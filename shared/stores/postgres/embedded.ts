import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite, type Transaction } from '@electric-sql/pglite';
import { leaveTimeAfter, threadCpuMs } from '../../concurrency/freeTurn.ts';
import { syncDisk } from '../../disk/diskSync.ts';
import { type Database, jsonParsers, type Queries, queriesOver, type Row, rowsOfEach } from './database.ts';
import { messageOf, rethrow, unavailable } from './databaseErrors.ts';

/**
 * PGlite takes its shared buffers out of the memory of this process when it opens, whether they are used or not. The store holds only names, versions
 * and states: with the default of 128 MB an idle service took 130 MB more.
 */
const SHARED_BUFFERS = '16MB';
/** A tenth of the default: 3,000 rows of a table are read for its statistics, some 20 ms in which nothing else runs. */
const STATISTICS_TARGET = 10;

/** PGlite runs one statement at a time, and this process does nothing else meanwhile; a log request waits for some three statements. */
const SLICE_MS = 8;

const pgliteIn = (directory: string): Promise<PGlite> =>
  PGlite.create(directory, {
    startParams: [
      ...PGlite.defaultStartParams,
      ...['-c', `shared_buffers=${SHARED_BUFFERS}`],
      ...['-c', `default_statistics_target=${STATISTICS_TARGET}`],
    ],
    parsers: jsonParsers,
  });

/** Makes the store under another name, which it loses when all of it is on the disk: a start that is cut off leaves none, rather than a part of one. */
async function createEmbedded(directory: string): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  await (await pgliteIn(unfinished)).close();
  await syncDisk(unfinished);
  renameSync(unfinished, directory);
}

/**
 * Opens PGlite in `directory`, which is made where it is missing.
 * @throws Error when its files are damaged
 */
export async function openEmbedded(directory: string): Promise<Database> {
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
  // After a panic whatever enters it turns for ever, and the event loop with it: also the Sync and the ROLLBACK that PGlite sends behind a failed statement.
  const enter = lite.execProtocolStream.bind(lite);
  lite.execProtocolStream = async (...message) => {
    if (panic) throw panic.cause;
    return enter(...message).catch((err: unknown) => {
      if (isPanic(err)) {
        const what = `the embedded Postgres in ${directory} could not write its log (${err.message}): the process must end`;
        panic = new Error(what, { cause: err });
        lost.reject(panic);
      }
      throw err;
    });
  };
  const unlessLost = async <T>(work: () => Promise<T>): Promise<T> => {
    if (panic) throw unavailable(panic);
    return work();
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
    sliceMs: SLICE_MS,
    lost: lost.promise,
    close: async () => (panic ? undefined : lite.close()),
  };
}

/** The signal of a connection that cannot break. */
const never = new AbortController().signal;

/** Postgres' word for an error after which the server ends by itself, to be started again: the embedded one cannot. */
const isPanic = (err: unknown): err is Error => err instanceof Error && Reflect.get(err, 'severity') === 'PANIC';
