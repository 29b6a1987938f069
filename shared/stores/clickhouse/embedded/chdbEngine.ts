import { drainPending, Session } from 'chdb';
import { currentCaller } from '../../../concurrency/currentCaller.ts';
import { FairTurns } from '../fairTurns.ts';
import { HungStatements, type StatementLimits, statementLimits } from '../hungStatements.ts';
import { clearBodies } from '../insertBody.ts';
import { type ChdbSession, type InsertStatement, PooledSession, type Statement, TAG_SETTING } from './chdbSession.ts';
import { endOnCrash } from './endOnCrash.ts';
import { escapeText } from './quotedSql.ts';

export interface ChdbEngine extends ChdbSession {
  /**
   * Several inserts, one after the other, as one statement: what is between two of them waits for no turn of the event loop. Those before one that
   * fails are stored.
   */
  insertAll(statements: readonly InsertStatement[]): Promise<void>;
  /** A session of the caller's own, for temporary tables and settings that outlive one statement. */
  openSession(): ChdbSession & { close(): void };
  /** True while a statement that was given up lately has not come back. */
  readonly lost: boolean;
  /** Rejects when so many statements hang that only a new start of the process helps. */
  readonly broken: Promise<never>;
  close(): Promise<void>;
}

/**
 * The embedded ClickHouse engine on one data directory, with what one statement does kept away from the next. A bare chDB session does not:
 * - a query that fails half way leaves its partial output in the session, and the next query's result starts with it;
 * - SET stays (a deduplication token would apply to the next insert, which then vanishes as a duplicate), and so do bound parameters;
 * - inline INSERT data is cut at the first blank line and the rest is run as SQL.
 * Each was seen with chdb 3.4.0; test/store/clickhouse.test.ts holds a case for every one. What runs off the event loop, streams and binds comes
 * from chdb itself: https://github.com/chdb-io/chdb-node/pull/43. This file and chdbSession.ts go when those cases hold with a bare
 * session.
 *
 * Sessions are pooled because a closed one is only released after every operation that was running at that moment: opening one per
 * statement beside a slow query kept 3,000 of them (1.3 GB) alive in 7 s.
 * @throws when the directory is in use by another process, or another directory is open in this one.
 */
export function openChdbEngine(
  dataDir: string,
  options: {
    engineArguments?: readonly string[];
    maxReads?: number;
    limits?: Partial<StatementLimits>;
    /** Gets the seconds that a statement waited for its turn. */
    onWait?: ((seconds: number) => void) | undefined;
  } = {},
): ChdbEngine {
  const ofService = new FairTurns(options.maxReads ?? MAX_READS, undefined, options.onWait);
  const ofCallers = new FairTurns(MAX_READS + 1, MAX_READS, options.onWait);
  // One at a time: of two small inserts at once one was seen never to return (in one run of the tests of many), which held up every writer behind it.
  // That this cures it is likely, not proven; `HungStatements` gives up what hangs all the same.
  const inserts = new FairTurns(1, undefined, options.onWait);
  const keeper = new Session(dataDir, { connectionArgs: options.engineArguments ?? [] }); // the engine lives as long as one session does
  endOnCrash();
  clearBodies(dataDir);
  const hung = new HungStatements({ ...statementLimits, ...options.limits }, (tag) =>
    keeper.queryAsync(`KILL QUERY WHERE Settings['${TAG_SETTING}'] = '${tag}' ASYNC`),
  );
  const idle: PooledSession[] = [];
  const statements = new Set<Promise<unknown>>();
  const streaming = new Set<PooledSession>();
  let closed = false;

  const withSession = <T>(statement: Statement, work: (session: PooledSession) => Promise<T>): Promise<T> => {
    const run = async () => {
      const session = take(statement);
      try {
        const result = await work(session);
        give(session);
        return result;
      } catch (err) {
        if (await session.recover(err)) give(session);
        else session.close();
        throw err;
      }
    };
    const running = run();
    statements.add(running);
    const end = () => statements.delete(running);
    running.then(end, end);
    return running;
  };
  const take = (statement: Statement): PooledSession => {
    if (closed) throw new Error('the embedded ClickHouse engine is closed');
    // A placeholder without a value must fail, not find the value an earlier statement bound: such a statement gets a fresh session.
    if (hasUnboundPlaceholder(statement)) return new PooledSession(dataDir, hung);
    return idle.pop() ?? new PooledSession(dataDir, hung);
  };
  const give = (session: PooledSession): void => {
    if (closed || !session.isReusable) session.close();
    else idle.push(session);
  };

  return {
    query: (statement) =>
      (currentCaller() === undefined ? ofService : ofCallers).run(() => {
        statement.signal?.throwIfAborted(); // it may have waited long for its turn
        return withSession(statement, (session) => session.query(statement));
      }),
    insert: (statement) => withSession(statement, (session) => session.insert(statement, (work) => inserts.run(work))),
    async insertAll(statements) {
      const [first] = statements;
      if (first) await withSession(first, (session) => session.insertFromFiles(statements, (work) => inserts.run(work)));
    },
    async *stream(statement) {
      const session = take(statement);
      streaming.add(session);
      let failure: { err: unknown } | undefined;
      try {
        yield* session.stream(statement);
      } catch (err) {
        failure = { err };
        throw err;
      } finally {
        streaming.delete(session);
        if (failure === undefined || (await session.recover(failure.err))) give(session);
        else session.close();
      }
    },
    openSession() {
      const session = new PooledSession(dataDir, hung, { keepsState: true });
      return {
        query: (statement) => session.query(statement).catch((err) => session.recoverThenThrow(err)),
        insert: (statement) => session.insert(statement).catch((err) => session.recoverThenThrow(err)),
        stream: (statement) => session.stream(statement),
        close: () => session.close(),
      };
    },
    get lost() {
      return hung.lost;
    },
    broken: hung.tooMany,
    async close() {
      closed = true;
      for (const session of [...idle.splice(0), ...streaming]) session.close();
      keeper.close();
      // Until the last session is closed the engine's threads run, and a process that ends before they have was seen to crash.
      await hung.atClose(Promise.allSettled(statements).then(drainPending));
    },
  };
}

/**
 * Each running statement holds one of libuv's threads (four, unless the process was started with more), which files, DNS and password hashing need
 * too. With 24 long queries at once and no limit a file read took 1.7 s and a one-row insert as long; the queries themselves are not done later for
 * waiting, each uses all cores. Of a page (a filter of two columns in 1 M records) two at once took 68 ms, three 62: planning them is a third of it.
 * One caller may have so many at a time, all of them one more: long statements of one leave room for another's. What the service does by itself,
 * such as the look-ups of ingest and of scoring, waits for no caller.
 */
const MAX_READS = 3;

const placeholder = /\{\s*([A-Za-z_]\w*)\s*:/g;
const hasUnboundPlaceholder = ({ sql, params = {} }: Statement): boolean =>
  [...sql.matchAll(placeholder)].some(([, name]) => name !== undefined && !Object.hasOwn(params, name));

/** A value in the text form that ClickHouse parses a bound parameter from: escaped at the top, quoted inside arrays. */
export function paramText(value: unknown): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(nestedText).join(',')}]`;
  throw new TypeError(`a ${typeof value} cannot be bound as a query parameter; pass text, a number, a boolean or an array`);
}

function nestedText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'string') return `'${escapeText(value)}'`;
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return paramText(value);
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? '+inf' : '-inf';
  return String(value);
}
