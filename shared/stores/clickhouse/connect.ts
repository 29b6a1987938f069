import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { currentCaller } from '../../accounts/currentCaller.ts';
import { othersArePresent } from '../../concurrency/presentCallers.ts';
import { together } from '../../concurrency/together.ts';
import { chdbConnection, clickHouseError } from './chdbConnection.ts';
import { type ChdbEngine, paramText } from './chdbEngine.ts';
import { type ClickHouse, type ClickHouseInsert, type ClickHouseRead, type NativeInsert, SHARED_CORES } from './clickHouse.ts';
import { openEmbeddedEngine } from './embeddedEngine.ts';
import { FairTurns } from './fairTurns.ts';
import { readSeconds, StatementHangs, type StatementLimits, statementLimits } from './hungStatements.ts';
import { sizeOf } from './insertBody.ts';
import { KeptAnswers } from './keptAnswers.ts';
import { linesOf } from './linesOf.ts';
import { bytesOfRows, rowsOfLines, textOrBytes } from './rowLines.ts';
import { ServerStatement } from './serverStatement.ts';
import { asServiceError, refusedValue, unavailable } from './statementErrors.ts';

export interface ClickHouseOptions {
  /** A server's URL, with user, password and database in it. */
  url?: string | undefined;
  /** Most connections to the server; 10 when absent. */
  connections?: number;
  /** Folder of the embedded engine; used when there is no `url`. */
  dataDir?: string | undefined;
  /** Most memory one query may take, in bytes: 512 MiB in the embedded engine, 2 GiB on a server when absent. */
  queryMemoryBytes?: number;
  /** Most memory the embedded engine may take in all, in bytes. */
  engineMemoryBytes?: number;
  /** Hears of every statement that was not answered in its time; its caller gets `Unavailable`. */
  onHang?: ((name: string, err: StatementHangs) => void) | undefined;
  /** Hears of every insert, when it has ended: of its table, the last of several, the seconds it took, and whether it was stored. */
  onInsert?: ((table: string, seconds: number, stored: boolean) => void) | undefined;
  /** Gets the seconds that a statement waited for a connection, or for its turn in the embedded engine. */
  onWait?: ((seconds: number) => void) | undefined;
  /** When statements are given up; `statementLimits` where absent. */
  limits?: Partial<StatementLimits>;
}

const GiB = 1024 ** 3;
const DEFAULT_SECONDS = 30;
/** Four statements of callers run at once in the embedded engine: together they stay below its bound, with room for inserts, merges and caches. */
const EMBEDDED_QUERY_BYTES = GiB / 2;
const SERVER_QUERY_BYTES = 2 * GiB;
/** Answers that are read while they are made, such as exports: so many at a time, and of one caller. */
const STREAMS = 8;
const STREAMS_OF_CALLER = 2;
/** Connections to a server that callers leave to the service's own work. */
const OWN_CONNECTIONS = 2;

/** The client's own log would repeat each error on our output, with its stack; whoever gets the error tells it once. */
const quiet = { level: ClickHouseLogLevel.OFF };

/**
 * Opens the server at `url`, or the embedded engine in `dataDir` (created when absent).
 * @throws Error with one clear sentence when another process has the folder open or the URL is wrong.
 */
export function openClickHouse(options: ClickHouseOptions): ClickHouse {
  const queryMemoryBytes = options.queryMemoryBytes ?? (options.url ? SERVER_QUERY_BYTES : EMBEDDED_QUERY_BYTES);
  const readSettings = {
    max_memory_usage: queryMemoryBytes,
    max_bytes_before_external_sort: Math.floor(queryMemoryBytes / 4),
    max_bytes_before_external_group_by: Math.floor(queryMemoryBytes / 4),
    output_format_json_quote_64bit_integers: 1,
    timeout_overflow_mode: 'throw',
    // Four or more LIKEs joined by OR would become one multiSearchAny, for which an empty pattern matches nothing.
    optimize_or_like_chain: 0,
    // What a page reads is mostly what the page before it read: the narrow columns of the same run, and granules of long texts. A statement over
    // more than 1 M rows, the engine's own limit, leaves the cache alone, which it would only push through.
    use_uncompressed_cache: 1,
  };
  const limits = { ...statementLimits, ...options.limits };
  const { onHang, onInsert, onWait } = options;
  const store = { readSettings, limits, onHang, onInsert, onWait };
  if (options.url) {
    const client = createClient({
      url: options.url,
      use_multipart_params_auto: true,
      log: quiet,
      // Each statement has its own limit, and this one would be the first to end a change of a table.
      request_timeout: 2_000 * limits.statementSeconds,
      ...(options.connections !== undefined && { max_open_connections: options.connections }),
    });
    return new Store({ ...store, client, engine: undefined, connections: options.connections ?? 10 });
  }
  if (!options.dataDir) throw new Error('openClickHouse needs a url or a dataDir');
  const engine = openEmbeddedEngine(options.dataDir, { memoryBytes: options.engineMemoryBytes, limits, onWait });
  return new Store({ ...store, client: createClient({ connection: chdbConnection(engine) }), engine });
}

interface StoreParts {
  client: ClickHouseClient;
  /** Undefined with a server. */
  engine: ChdbEngine | undefined;
  /** To a server; the embedded engine lets its statements in by itself. */
  connections?: number;
  readSettings: Record<string, string | number>;
  limits: StatementLimits;
  onHang: ClickHouseOptions['onHang'];
  onInsert: ClickHouseOptions['onInsert'];
  onWait: ClickHouseOptions['onWait'];
}

class Store implements ClickHouse {
  readonly broken: Promise<never>;
  readonly #client: ClickHouseClient;
  readonly #engine: ChdbEngine | undefined;
  readonly #readSettings: Record<string, string | number>;
  readonly #limits: StatementLimits;
  readonly #onHang: ClickHouseOptions['onHang'];
  readonly #onInsert: ClickHouseOptions['onInsert'];
  readonly #turns: FairTurns | undefined;
  readonly #streams = new FairTurns(STREAMS, STREAMS_OF_CALLER);
  readonly #kept = new KeptAnswers();
  #writesBegun = 0;
  #writesUnderWay = 0;

  constructor({ client, engine, connections, readSettings, limits, onHang, onInsert, onWait }: StoreParts) {
    this.#client = client;
    this.#engine = engine;
    if (connections !== undefined) {
      const ofCallers = Math.max(1, connections - OWN_CONNECTIONS);
      this.#turns = new FairTurns(ofCallers, Math.max(1, Math.floor(ofCallers * 0.75)), onWait);
    }
    this.#readSettings = readSettings;
    this.#limits = limits;
    this.#onHang = onHang;
    this.#onInsert = onInsert;
    this.broken = engine?.broken ?? new Promise<never>(() => {});
  }

  get isEmbedded(): boolean {
    return this.#engine !== undefined;
  }

  get writeMark(): number | undefined {
    return this.#engine && this.#writesUnderWay === 0 ? this.#writesBegun : undefined;
  }

  async query<T>(read: ClickHouseRead<T>): Promise<T[]> {
    return rowsOfLines(await this.#answer(read, 'JSONEachRow', {}), rowParser(read.row));
  }

  async page<T>(read: ClickHouseRead<T>): Promise<{ rows: T[]; total: number }> {
    const parse = rowParser(read.row);
    const rows: T[] = [];
    let total: number | undefined;
    await rowsOfLines(await this.#answer(read, 'JSONEachRowWithProgress', { exact_rows_before_limit: 1 }), (line) => {
      const { row, rows_before_limit_at_least: before, exception } = line as PageLine;
      if (exception !== undefined) throw this.#fault(clickHouseError(new Error(exception)), read.name);
      if (row !== undefined) rows.push(parse(row));
      if (before !== undefined) total = Number(before);
    });
    return { rows, total: total ?? rows.length };
  }

  async *stream<T>({ signal, ...read }: ClickHouseRead<T> & { signal?: AbortSignal | undefined }): AsyncGenerator<T> {
    signal?.throwIfAborted();
    const sql = this.#withSettings(read, { use_uncompressed_cache: 0 });
    const parse = rowParser(read.row);
    const release = currentCaller() === undefined ? () => {} : await this.#streams.take();
    try {
      signal?.throwIfAborted();
      if (this.#engine) {
        const pieces = this.#engine.stream({ sql, params: paramTexts(read), format: 'JSONEachRow', signal });
        for await (const lines of linesOf(pieces)) for (const line of lines) yield parse(parseJson(line));
        return;
      }
      const statement = new ServerStatement(this.#client, this.#limits, signal);
      const seconds = this.#readSeconds(read);
      const asked = sent(() =>
        this.#client.query({ query: sql, query_params: { ...read.params }, format: 'JSONEachRow', ...statement.sending() }),
      );
      const rows = (await statement.within(seconds, asked)).stream();
      const pages = rows[Symbol.asyncIterator]();
      try {
        for (;;) {
          const page = await statement.within(seconds, pages.next());
          if (page.done) return;
          for (const row of page.value) yield parse(row.json());
        }
      } finally {
        rows.destroy();
      }
    } catch (err) {
      throw this.#fault(err, read.name);
    } finally {
      release();
    }
  }

  async insert({ table, rows, token }: ClickHouseInsert): Promise<void> {
    const body = Buffer.isBuffer(rows) ? [rows] : await bytesOfRows(rows);
    const size = sizeOf(body);
    if (size === 0) return;
    const query = `INSERT INTO ${table} FORMAT JSONEachRow`;
    const settings = { insert_deduplication_token: token, input_format_parallel_parsing: (size > 10_000_000 ? 1 : 0) as 0 | 1 };
    const engine = this.#engine;
    await this.#inserting(table, () =>
      engine ? engine.insert({ sql: query, body, settings }) : this.#insertOnServer(query, body, settings),
    );
  }

  async insertInOrder(steps: readonly (readonly NativeInsert[])[]): Promise<void> {
    const engine = this.#engine;
    if (!engine) {
      for (const step of steps)
        await together(
          step.map((one) =>
            this.#inserting(one.table, () => this.#insertOnServer(nativeSql(one), one.native, nativeSettings(one))),
          ),
        );
      return;
    }
    const inserts = steps.flat();
    const last = inserts.at(-1);
    if (!last) return;
    await this.#inserting(last.table, () =>
      engine.insertAll(inserts.map((one) => ({ sql: nativeSql(one), body: one.native, settings: nativeSettings(one) }))),
    );
  }

  async #inserting(table: string, send: () => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    let stored = false;
    try {
      await (this.#engine ? this.#writing(send, false) : send());
      stored = true;
    } catch (thrown) {
      const err = clickHouseError(thrown);
      throw refusedValue(err) ?? this.#fault(err, `insert into ${table}`);
    } finally {
      this.#onInsert?.(table, (performance.now() - begun) / 1_000, stored);
    }
  }

  #insertOnServer(query: string, body: readonly Buffer[], settings: ClickHouseSettings): Promise<void> {
    return this.#onServer(this.#limits.insertSeconds, async (sending) => {
      const values = Readable.from(body, { objectMode: false });
      const { stream } = await this.#client.exec({ query, values, clickhouse_settings: settings, ...sending });
      await stream.resume().toArray();
    });
  }

  async command(command: Parameters<ClickHouse['command']>[0]): Promise<void> {
    try {
      const query = `${command.sql}${settingsClause({ ...command.settings })}`;
      await this.#writing(
        () =>
          this.#onServer(this.#limits.statementSeconds, (sending) =>
            this.#client.command({ query, query_params: { ...command.params }, ...sending }),
          ),
        true,
      );
    } catch (err) {
      throw this.#fault(err, command.name);
    }
  }

  async ping(): Promise<void> {
    if (this.#engine?.lost) throw unavailable(new Error('the embedded engine does not come back from a statement'));
    await this.query({ name: 'ping', sql: 'SELECT 1 AS one', row: (row) => row, maxSeconds: 5 });
  }

  async close(): Promise<void> {
    await this.#client.close();
    await this.#engine?.close();
  }

  /** What was given up may still be written at any time, by a deletion also when its statement has ended: it stays under way. */
  async #writing(write: () => Promise<unknown>, goesOn: boolean): Promise<void> {
    this.#writesBegun++;
    this.#writesUnderWay++;
    try {
      await write();
    } catch (err) {
      if (err instanceof StatementHangs && (goesOn || !err.hasEnded)) this.#writesUnderWay++;
      throw err;
    } finally {
      this.#writesUnderWay--;
    }
  }

  /** The text of an answer, or its bytes where it is long. */
  async #answer(
    read: ClickHouseRead<unknown>,
    format: 'JSONEachRowWithProgress' | 'JSONEachRow',
    settings: Record<string, number>,
  ): Promise<string | Buffer> {
    // Its threads take 1 ms to start, of the 2.5 ms that an empty statement takes; answers are small.
    const all = { output_format_parallel_formatting: 0, ...settings };
    const query = this.#withSettings(read, all);
    const ask = () => this.#ask(read, this.#isShared() ? this.#withSettings(read, { ...all, ...SHARED_CORES }) : query, format);
    const { writeMark } = this;
    if (!read.isRepeatable || writeMark === undefined) return ask();
    const statement = `${format} ${query} ${JSON.stringify(read.params)}`;
    const kept = this.#kept.get(statement, writeMark);
    if (kept !== undefined) return kept;
    const answer = await ask();
    if (this.writeMark === writeMark && typeof answer === 'string') this.#kept.keep(statement, answer, writeMark);
    return answer;
  }

  /**
   * Whether the engine may be asked by several callers at once: no statement takes all cores then. Beside three loops of a scan on two cores a small
   * statement took 11 ms instead of 16 to 20 (p95), and as many scans were done.
   */
  #isShared(): boolean {
    const caller = currentCaller();
    return this.#engine !== undefined && caller !== undefined && othersArePresent(caller);
  }

  async #ask(
    read: ClickHouseRead<unknown>,
    query: string,
    format: 'JSONEachRowWithProgress' | 'JSONEachRow',
  ): Promise<string | Buffer> {
    const engine = this.#engine;
    const ask = async () => {
      if (engine) return textOrBytes((await engine.query({ sql: query, params: paramTexts(read), format })).bytes);
      return this.#onServer(this.#readSeconds(read), async (sending) => {
        const result = await this.#client.query({ query, query_params: { ...read.params }, format, ...sending });
        return await result.text();
      });
    };
    try {
      return await (this.#turns && currentCaller() !== undefined ? this.#turns.run(ask) : ask());
    } catch (err) {
      throw this.#fault(err, read.name);
    }
  }

  /** A whole statement, in its time. The embedded engine keeps it by itself. */
  #onServer<T>(seconds: number, send: (sending: Partial<ReturnType<ServerStatement['sending']>>) => Promise<T>): Promise<T> {
    if (this.#engine) return send({});
    const statement = new ServerStatement(this.#client, this.#limits);
    return statement.within(
      seconds,
      sent(() => send(statement.sending())),
    );
  }

  #readSeconds({ maxSeconds = DEFAULT_SECONDS }: ClickHouseRead<unknown>): number {
    return readSeconds(maxSeconds, this.#limits);
  }

  #fault(err: unknown, name: string): unknown {
    // What the embedded engine itself is asked for, inserts and streams, fails without the fields that the client gives an error.
    if (!(err instanceof StatementHangs)) return asServiceError(clickHouseError(err), name);
    this.#onHang?.(name, err);
    return unavailable(err);
  }

  #withSettings(read: ClickHouseRead<unknown>, settings: Record<string, string | number>): string {
    const all = {
      ...this.#readSettings,
      max_execution_time: read.maxSeconds ?? DEFAULT_SECONDS,
      ...(read.maxResultBytes !== undefined && { max_result_bytes: read.maxResultBytes }),
      ...settings,
      ...read.settings,
    };
    return `${read.sql}${settingsClause({ ...all, log_comment: read.name })}`;
  }
}

/**
 * A server, or a proxy before it, closes a connection that was idle for long, maybe at the moment at which a statement is sent over it. It is sent once
 * more then: none does harm when it is done twice.
 */
const sent = <T>(send: () => Promise<T>): Promise<T> =>
  send().catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ECONNRESET' || err.code === 'EPIPE') return send();
    throw err;
  });

/** A line of `JSONEachRowWithProgress`; those of other kinds have none of these. */
interface PageLine {
  row?: unknown;
  rows_before_limit_at_least?: number | string;
  exception?: string;
}

const nativeSql = ({ table }: NativeInsert): string => `INSERT INTO ${table} FORMAT Native`;

const nativeSettings = ({ token, lateIndexes = [] }: NativeInsert) => ({
  insert_deduplication_token: token,
  input_format_parallel_parsing: 0 as const,
  // Looks for rows of one key and copies the block for it: 2.5 of 38 µs of CPU that a record takes.
  optimize_on_insert: 0 as const,
  ...(lateIndexes.length > 0 && { exclude_materialize_skip_indexes_on_insert: lateIndexes.join(',') }),
});

const parseJson = (line: string): unknown => JSON.parse(line);

function rowParser<T>(row: ClickHouseRead<T>['row']): (value: unknown) => T {
  return typeof row === 'function' ? row : (value) => row.parse(value);
}

const paramTexts = ({ params = {} }: ClickHouseRead<unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, paramText(value)]));

/** Settings travel in the statement: a SET would stay on the embedded engine's connection and reach the next query. */
function settingsClause(settings: Record<string, string | number>): string {
  const entries = Object.entries(settings);
  if (entries.length === 0) return '';
  const text = entries.map(([name, value]) => {
    if (!/^\w+$/.test(name) || (typeof value === 'string' && !/^[\w ./-]*$/.test(value)))
      throw new Error(`not a setting: ${name}`);
    return `${name} = ${typeof value === 'string' ? `'${value}'` : value}`;
  });
  return ` SETTINGS ${text.join(', ')}`;
}
