import { randomUUID } from 'node:crypto';
import { createWriteStream, ftruncateSync, mkdirSync, readdirSync, rmSync, writevSync } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ChdbQueryStream, drainPending, Session } from 'chdb';
import { currentCaller } from '../../accounts/currentCaller.ts';
import { endOnCrash } from './endOnCrash.ts';
import { FairTurns } from './fairTurns.ts';
import { HungStatements, readSeconds, StatementHangs, type StatementLimits, statementLimits } from './hungStatements.ts';

export type SettingValue = string | number | boolean;

export interface Statement {
  sql: string;
  /** Values of `{name:Type}` placeholders in ClickHouse's text form (see `paramText`). */
  params?: Readonly<Record<string, string>>;
  settings?: Readonly<Record<string, SettingValue>>;
  /** Used when the SQL has no FORMAT clause of its own; TabSeparated when absent, as a server does it. */
  format?: string;
  database?: string;
  signal?: AbortSignal | undefined;
}

export interface StatementResult {
  bytes: Uint8Array;
  rowsRead: number;
  bytesRead: number;
  elapsedSeconds: number;
}

export interface InsertStatement extends Omit<Statement, 'format'> {
  /** A list of bytes is one body in pieces. */
  body: Readable | Uint8Array | string | readonly Uint8Array[];
}

export interface InsertOutcome {
  rowsWritten: number;
  bytesWritten: number;
  elapsedSeconds: number;
}

/** One engine session as a caller may hold it: state set by its statements stays until `close`. */
export interface ChdbSession {
  query(statement: Statement): Promise<StatementResult>;
  /** Rows as they are made. Only SELECT statements; only formats without a header or footer give one valid document. */
  stream(statement: Statement): AsyncGenerator<Uint8Array, void>;
  insert(statement: InsertStatement): Promise<InsertOutcome>;
}

export interface ChdbEngine extends ChdbSession {
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
 * Each was seen with chdb 3.4.0; test/contracts/clickhouse.test.ts holds a case for every one. What runs off the event loop, streams and binds comes
 * from chdb itself: https://github.com/chdb-io/chdb-node/pull/43. This file goes when those cases hold with a bare session.
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
  clearBodies(join(dataDir, BODIES));
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
    if (closed) session.close();
    else idle.push(session);
  };

  return {
    query: (statement) =>
      (currentCaller() === undefined ? ofService : ofCallers).run(() => {
        statement.signal?.throwIfAborted(); // it may have waited long for its turn
        return withSession(statement, (session) => session.query(statement));
      }),
    insert: (statement) => withSession(statement, (session) => session.insert(statement, (work) => inserts.run(work))),
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

type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

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

const escapes: Record<string, string> = {
  '\\': '\\\\',
  "'": "\\'",
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};
const escapeText = (text: string): string => text.replace(/[\\'\0\b\f\n\r\t]/g, (char) => escapes[char] ?? char);
const literal = (text: string): string => `'${escapeText(text)}'`;
const identifier = (name: string): string => `\`${name.replace(/[\\`]/g, '\\$&')}\``;

const placeholder = /\{\s*([A-Za-z_]\w*)\s*:/g;
const hasUnboundPlaceholder = ({ sql, params = {} }: Statement): boolean =>
  [...sql.matchAll(placeholder)].some(([, name]) => name !== undefined && !Object.hasOwn(params, name));

/** `INSERT INTO t (a, b) FORMAT F` without data: the only form that can be given its rows as bytes. */
const plainInsert = /^\s*INSERT\s+INTO\s+(?<table>[\w.]+)\s*(?:\((?<columns>[\w\s,]*)\))?\s*FORMAT\s+JSONEachRow\s*;?\s*$/i;
const insertHead = /^(?<head>[\s\S]*?)\bFORMAT\s+(?<format>\w+)\s*;?\s*$/i;
const blankLine = /\n[ \t\r]*\n/;
// Above this a body goes through a file: the engine reads a file in parallel (1.5 million rows: 0.3 s, against 0.9 s as inline data).
const maxInlineBytes = 4 * 1024 * 1024;

/** Folder of those files, inside the engine's own: what they hold is as private as the data. */
const BODIES = 'insert_bodies';

/** Deletes what a killed process left behind: no other one has the engine's folder open now. */
function clearBodies(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) if (!name.startsWith(ofThisProcess)) rmSync(join(folder, name));
}

// Not by the process id: the main process of a container has the same one at every start.
const ofThisProcess = `${randomUUID()}-`;

// Bound values travel inside a SET here, where the engine's default of 256 KiB for a statement's text would count them; a server does not.
const maxStatementBytes = 64 * 1024 * 1024;

/**
 * A setting that does nothing here and is seen in `system.processes`: it tells by which session a statement runs. Comments and `log_comment` do not,
 * since reads have theirs and chDB makes the text of small inserts itself.
 */
const TAG_SETTING = 'query_cache_tag';

/** The limit that a read brings along. */
const ownLimit = /\bmax_execution_time = (\d+)/;

class PooledSession implements ChdbSession {
  readonly #session: Session;
  readonly #hung: HungStatements;
  readonly #tag = randomUUID();
  /** One file for all its inserts: on ext4 a new one costs 0.1 to 1 ms after many were deleted. */
  readonly #bodyPath: string;
  #bodyFile: Promise<FileHandle> | undefined;
  /** When the body of the last insert is gone. */
  #emptied: Promise<void> = Promise.resolve();
  readonly #keepsState: boolean;
  #settings: string[] = [];
  #database = 'default';

  constructor(dataDir: string, hung: HungStatements, options: { keepsState?: boolean } = {}) {
    const connectionArgs = [`--max_query_size=${maxStatementBytes}`, `--${TAG_SETTING}=${this.#tag}`];
    this.#session = new Session(dataDir, { connectionArgs });
    this.#bodyPath = join(dataDir, BODIES, ofThisProcess + this.#tag);
    this.#hung = hung;
    this.#keepsState = options.keepsState ?? false;
  }

  async query(statement: Statement): Promise<StatementResult> {
    const setUp = this.#setUp(statement);
    const result = await this.#within(
      this.#secondsFor(statement),
      this.#session.queryAsync(setUp === '' ? statement.sql : `${setUp}; ${statement.sql}`, {
        format: statement.format ?? 'TabSeparated',
        ...(statement.signal && { signal: statement.signal }),
      }),
    );
    return { bytes: result.bytes(), rowsRead: result.rowsRead, bytesRead: result.bytesRead, elapsedSeconds: result.elapsed };
  }

  async *stream(statement: Statement): AsyncGenerator<Uint8Array, void> {
    await this.#prepare(statement);
    const stream: ChdbQueryStream = this.#session.queryStream(statement.sql, { format: statement.format ?? 'TabSeparated' });
    const chunks = stream[Symbol.asyncIterator]();
    try {
      for (;;) {
        const chunk = await this.#within(this.#secondsFor(statement), chunks.next(), statement.signal);
        if (chunk.done) return;
        yield chunk.value.raw();
      }
    } finally {
      stream.cancel();
    }
  }

  /** @param inTurn runs the insert itself, without what can be done before it. */
  async insert(statement: InsertStatement, inTurn: InTurn = (work) => work()): Promise<InsertOutcome> {
    const { sql, body } = statement;
    const pieces = piecesOf(body);
    if (pieces?.every(({ length }) => length === 0)) return { rowsWritten: 0, bytesWritten: 0, elapsedSeconds: 0 };
    const bytes = pieces?.length === 1 ? pieces[0] : undefined;
    const plain = plainInsert.exec(sql)?.groups;
    if (
      plain?.table &&
      bytes &&
      bytes.length <= maxInlineBytes &&
      !(bytes.includes('\n') && blankLine.test(bytes.toString('latin1')))
    ) {
      await this.#prepare(statement);
      const columns = plain.columns?.split(',').map((name) => name.trim());
      const { table } = plain;
      const summary = await inTurn(() =>
        this.#within(
          this.#hung.limits.insertSeconds,
          this.#session.insert({ table, values: bytes, format: 'JSONEachRow', ...(columns && { columns }) }),
        ),
      );
      return { rowsWritten: summary.rowsWritten, bytesWritten: summary.bytesWritten, elapsedSeconds: summary.elapsed };
    }
    return this.#insertFromFile(statement, pieces, inTurn);
  }

  /** Its settings are in the statement: each step that is a call of its own waits for the event loop, which is busy where much is inserted. */
  async #insertFromFile(
    { settings = {}, ...statement }: InsertStatement,
    pieces: readonly Buffer[] | undefined,
    inTurn: InTurn,
  ): Promise<InsertOutcome> {
    const parts = insertHead.exec(statement.sql)?.groups;
    if (parts?.head === undefined || parts.format === undefined || /\binput\s*\(/i.test(parts.head)) {
      throw new Error(
        'Code: 48. DB::Exception: the embedded engine takes rows only for INSERT INTO table FORMAT name. (NOT_IMPLEMENTED)',
      );
    }
    const path = this.#bodyPath;
    const set = Object.entries(settings).map(([name, value]) => assignment(name, value));
    const clause = set.length === 0 ? '' : ` SETTINGS ${set.join(', ')}`;
    const sql = `${parts.head} FROM INFILE ${literal(path)} COMPRESSION 'none'${clause} FORMAT ${parts.format}`;
    await this.#emptied;
    try {
      if (pieces) await this.#writeBody(pieces);
      else await pipeline(statement.body as Readable, createWriteStream(path));
      await this.#prepare(statement);
      const result = await inTurn(() => this.#within(this.#hung.limits.insertSeconds, this.#session.queryAsync(sql)));
      return { rowsWritten: result.rowsRead, bytesWritten: result.bytesRead, elapsedSeconds: result.elapsed };
    } finally {
      this.#emptied = this.#emptyBody(pieces !== undefined && isSmall(pieces));
    }
  }

  /** Where that fails, as it does where the file could not be made, the next body opens it anew, which empties it. */
  async #emptyBody(isSmallBody: boolean): Promise<void> {
    try {
      const file = isSmallBody ? await this.#bodyFile : undefined;
      if (file) ftruncateSync(file.fd);
      else await truncate(this.#bodyPath);
    } catch {
      const file = this.#bodyFile;
      this.#bodyFile = undefined;
      await file?.then((open) => open.close()).catch(() => {});
    }
  }

  /** In as few calls as can be: each waits for one of the threads that statements run in. */
  async #writeBody(pieces: readonly Buffer[]): Promise<void> {
    this.#bodyFile ??= open(this.#bodyPath, 'w', 0o600).catch((err: unknown) => {
      this.#bodyFile = undefined; // there may be room for it later
      throw err;
    });
    const file = await this.#bodyFile;
    for (let from = 0, at = 0; from < pieces.length; from += MAX_PIECES) {
      const some = pieces.slice(from, from + MAX_PIECES);
      const size = sizeOf(some);
      const bytesWritten = isSmall(pieces) ? writevSync(file.fd, some, at) : (await file.writev(some, at)).bytesWritten;
      if (bytesWritten !== size) throw full(`${bytesWritten} of ${size} bytes could be written for an insert`);
      at += size;
    }
  }

  /** Runs what must be set before the statement on its own: data and streams cannot follow a SET in one text. */
  async #prepare(statement: Statement): Promise<void> {
    const setUp = this.#setUp(statement);
    if (setUp !== '') await this.#within(this.#hung.limits.insertSeconds, this.#session.queryAsync(setUp));
  }

  #within<T>(seconds: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#hung.within(seconds, this.#tag, work, signal);
  }

  #secondsFor({ sql }: Statement): number {
    const own = ownLimit.exec(sql)?.[1];
    const { limits } = this.#hung;
    return own === undefined ? limits.statementSeconds : readSeconds(Number(own), limits);
  }

  #setUp({ settings = {}, params = {}, database }: Statement): string {
    const names = Object.keys(settings);
    const stale = this.#keepsState ? [] : this.#settings.filter((name) => !Object.hasOwn(settings, name));
    const sets = [
      ...stale.map((name) => `${name} = DEFAULT`),
      ...names.map((name) => assignment(name, settings[name])),
      ...Object.entries(params).map(([name, text]) => `param_${settingName(name)} = ${literal(text)}`),
    ];
    this.#settings = names;
    const target = database ?? (this.#keepsState ? this.#database : 'default');
    const use = target === this.#database ? [] : [`USE ${identifier(target)}`];
    this.#database = target;
    return [...use, ...(sets.length === 0 ? [] : [`SET ${sets.join(', ')}`])].join('; ');
  }

  /** Takes a failed statement's left-over output out of the session. False when the session must not be used again. */
  async recover(err: unknown): Promise<boolean> {
    if (!(err instanceof Error) || err instanceof StatementHangs || unusableAfter.test(err.message)) return false;
    if ('code' in err && err.code === 'CHDB_ABORT') return false;
    for (let attempt = 0; attempt < 3; attempt++) {
      const probe = randomUUID();
      try {
        const read = this.#session.queryAsync(`SELECT '${probe}'`, { format: 'TabSeparated' });
        const result = await this.#within(this.#hung.limits.insertSeconds, read);
        if (result.text() === `${probe}\n`) return true;
      } catch {
        return false;
      }
    }
    return false;
  }

  async recoverThenThrow(err: unknown): Promise<never> {
    await this.recover(err);
    throw err;
  }

  close(): void {
    this.#session.close();
    rmSync(this.#bodyPath, { force: true });
    void this.#bodyFile?.then((file) => file.close()).catch(() => {});
  }
}

/** A disk that is full takes a part of what is written, and says so at the next write. */
const full = (message: string): Error => Object.assign(new Error(message), { code: 'ENOSPC' });

/** The pieces of a body that is there as a whole. */
function piecesOf(body: InsertStatement['body']): Buffer[] | undefined {
  if (typeof body === 'string') return [Buffer.from(body)];
  if (body instanceof Uint8Array) return [asBuffer(body)];
  return Array.isArray(body) ? body.map(asBuffer) : undefined;
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Pieces that one call of the system takes; Linux allows 1,024. */
const MAX_PIECES = 1_000;

/**
 * Bytes of a body that is written and emptied by the event loop itself: 0.01 ms. By another thread it takes two more turns of the event loop, each of
 * which waits for whatever else is done there: 10 ms and more beside long work.
 */
const SMALL_BODY_BYTES = 64 * 1024;

const sizeOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0);
const isSmall = (pieces: readonly Buffer[]): boolean => pieces.length <= MAX_PIECES && sizeOf(pieces) <= SMALL_BODY_BYTES;

// After an unknown setting or database it is not known which part of the SET or USE was done.
const unusableAfter = /^Code: (115|81)\./;
const assignment = (name: string, value: SettingValue | undefined): string =>
  `${settingName(name)} = ${literal(settingText(value))}`;
const settingText = (value: SettingValue | undefined): string =>
  typeof value === 'boolean' ? (value ? '1' : '0') : String(value);

function settingName(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new Error(`Code: 115. DB::Exception: Unknown setting '${name}'. (UNKNOWN_SETTING)`);
  return name;
}
