import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { currentCaller, onBehalfOf } from '../../concurrency/currentCaller.ts';
import { othersArePresent } from '../../concurrency/presentCallers.ts';
import { together } from '../../concurrency/together.ts';
import { type ClickHouse, type ClickHouseInsert, type ClickHouseRead, type NativeInsert, SHARED_CORES } from './clickHouse.ts';
import { staleTable } from './embedded/staleTable.ts';
import { type Touched, WrittenRuns } from './embedded/writtenRuns.ts';
import { WrittenTraces } from './embedded/writtenTraces.ts';
import { FairTurns } from './fairTurns.ts';
import { StatementHangs } from './hungStatements.ts';
import { sizeOf } from './insertBody.ts';
import { bytesOfRows, rowsOfLines } from './rowLines.ts';
import { asServiceError, clickHouseError, refusedValue, unavailable } from './statementErrors.ts';
import type { AnswerFormat, Transport } from './transport.ts';

interface StoreOptions {
  queryMemoryBytes: number;
  /** Seconds after which a deletion is not waited for any more. */
  deletionSeconds: number;
  namedVersions?: number | undefined;
  onHang: ((name: string, err: StatementHangs) => void) | undefined;
  onInsert: ((table: string, seconds: number, stored: boolean) => void) | undefined;
}

const DEFAULT_SECONDS = 30;
const RECORDS = 'records';
const MEMBERS = 'trace_members';
/** Milliseconds between two looks at whether a deletion is done: the engine sends no event. */
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 250;
/** Answers that are read while they are made, such as exports: so many at a time, and of one caller. */
const STREAMS = 8;
const STREAMS_OF_CALLER = 2;

/** Statements with their settings, and errors that a caller understands. */
export const clickHouseOver = (transport: Transport, options: StoreOptions): ClickHouse => new Store(transport, options);

const settingsOfReads = (queryMemoryBytes: number) => ({
  max_memory_usage: queryMemoryBytes,
  max_bytes_before_external_sort: Math.floor(queryMemoryBytes / 4),
  max_bytes_before_external_group_by: Math.floor(queryMemoryBytes / 4),
  // Shares of the memory of the whole engine, which would count in place of these.
  max_bytes_ratio_before_external_sort: 0,
  max_bytes_ratio_before_external_group_by: 0,
  output_format_json_quote_64bit_integers: 1,
  timeout_overflow_mode: 'throw',
  // Four or more LIKEs joined by OR would become one multiSearchAny, for which an empty pattern matches nothing.
  optimize_or_like_chain: 0,
  // A page reads mostly the data of the page before it: narrow columns of the same run, and granules of long texts. A statement over more than
  // 1 M rows, the engine's own limit, bypasses the cache, from which it would only drop other data.
  use_uncompressed_cache: 1,
});

class Store implements ClickHouse {
  readonly isEmbedded: boolean;
  readonly written: WrittenRuns | undefined;
  readonly writtenTraces: WrittenTraces | undefined;
  readonly broken: Promise<never>;
  readonly #transport: Transport;
  readonly #readSettings: ReturnType<typeof settingsOfReads>;
  readonly #deletionSeconds: number;
  readonly #onHang: StoreOptions['onHang'];
  readonly #onInsert: StoreOptions['onInsert'];
  readonly #streams = new FairTurns(STREAMS, STREAMS_OF_CALLER);
  #isClosed = false;

  constructor(transport: Transport, { queryMemoryBytes, deletionSeconds, namedVersions, onHang, onInsert }: StoreOptions) {
    this.isEmbedded = transport.isEmbedded;
    this.written = transport.isEmbedded ? new WrittenRuns(staleTable(this, transport), namedVersions) : undefined;
    this.writtenTraces = transport.isEmbedded ? new WrittenTraces() : undefined;
    this.broken = transport.broken;
    this.#transport = transport;
    this.#readSettings = settingsOfReads(queryMemoryBytes);
    this.#deletionSeconds = deletionSeconds;
    this.#onHang = onHang;
    this.#onInsert = onInsert;
    // The engine goes on with what the process before this one had submitted, so nothing is known of its runs until that is done.
    if (transport.isEmbedded) this.#writing(() => this.#untilDeleted(), { deletes: undefined }, true).catch(() => {});
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
      for await (const rows of this.#transport.rows(this.#statement(read, sql), signal)) for (const row of rows) yield parse(row);
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
    const settings = { insert_deduplication_token: token, input_format_parallel_parsing: size > 10_000_000 ? 1 : 0 } as const;
    await this.#inserting(table, table === RECORDS || table === MEMBERS ? 'any' : [], () =>
      this.#transport.insert(query, body, settings),
    );
  }

  async insertInOrder(steps: readonly (readonly NativeInsert[])[], confirm?: () => Promise<void>): Promise<void> {
    const inserts = steps.flat();
    const changes = inserts.flatMap((insert) => insert.changes ?? []);
    const touched = inserts.some((insert) => insert.table === RECORDS && !insert.changes) ? 'any' : changes;
    for (const step of this.#transport.insertsInOrder(steps)) {
      await confirm?.();
      await together(step.map(({ table, send }) => this.#inserting(table, touched, send)));
    }
  }

  async #inserting(table: string, touched: Touched, send: () => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    let stored = false;
    try {
      await this.#writing(send, touched, false);
      stored = true;
    } catch (thrown) {
      const err = clickHouseError(thrown);
      throw refusedValue(err) ?? this.#fault(err, `insert into ${table}`);
    } finally {
      this.#onInsert?.(table, (performance.now() - begun) / 1_000, stored);
    }
  }

  deleteFrom({ table, where, params, takes }: Parameters<ClickHouse['deleteFrom']>[0]): ReturnType<ClickHouse['deleteFrom']> {
    const submitted = Promise.withResolvers<void>();
    const carryOut = async () => {
      await this.#transport.command(`DELETE FROM ${table} WHERE ${where} SETTINGS lightweight_deletes_sync = 0`, { ...params });
      submitted.resolve();
      await this.#untilDeleted(table);
    };
    const touched = table === RECORDS || table === MEMBERS ? { deletes: takes } : [];
    const gone = this.#writing(carryOut, touched, true).catch((err: unknown) => {
      throw this.#fault(err, `delete from ${table}`);
    });
    gone.catch(submitted.reject);
    submitted.promise.catch(() => {}); // the caller may wait for the other promise alone
    return { submitted: submitted.promise, gone };
  }

  async command(command: Parameters<ClickHouse['command']>[0]): Promise<void> {
    try {
      const query = `${command.sql}${settingsClause({ ...command.settings })}`;
      const touched = command.keepsRecords ? [] : 'any';
      await this.#writing(() => this.#transport.command(query, { ...command.params }), touched, true);
    } catch (err) {
      throw this.#fault(err, command.name);
    }
  }

  async ping(): Promise<void> {
    if (this.#transport.isLost) throw unavailable(new Error('the embedded engine does not come back from a statement'));
    await this.query({ name: 'ping', sql: 'SELECT 1 AS one', row: (row) => row, maxSeconds: 5 });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#transport.close();
  }

  /**
   * Waits for the deletions from the table, or from all tables, that are under way.
   * @throws StatementHangs when they go on without it, ServiceError `Unavailable` when the store was closed
   */
  async #untilDeleted(table?: string): Promise<void> {
    const end = performance.now() + this.#deletionSeconds * 1_000;
    let awaited: Set<string> | undefined;
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(1.5 * pause, LAST_LOOK_MS)) {
      // A look that fails says nothing: what was submitted is carried out.
      const underWay = await onBehalfOf(undefined, () => this.#mutations(table)).catch(() => undefined);
      awaited ??= underWay && new Set(underWay.map(({ id }) => id));
      const left = underWay?.filter(({ id }) => awaited?.has(id));
      if (left?.length === 0) return;
      const failed = left?.find(({ reason }) => reason !== '');
      if (failed) throw new StatementHangs(`the engine fails to delete and tries again: ${failed.reason}`);
      if (this.#isClosed) throw unavailable(new Error('the store was closed amid a deletion, which goes on when it is opened'));
      if (performance.now() > end)
        throw new StatementHangs(`a deletion takes longer than ${this.#deletionSeconds} s and goes on`);
      await sleep(pause);
    }
  }

  #mutations(table: string | undefined): Promise<{ id: string; reason: string }[]> {
    return this.query({
      name: 'deletions under way',
      sql: `SELECT concat(table, '/', mutation_id) AS id, latest_fail_reason AS reason FROM system.mutations
            WHERE database = currentDatabase() AND NOT is_done AND ${table === undefined ? 'true' : 'table = {table:String}'}`,
      params: table === undefined ? {} : { table },
      row: z.object({ id: z.string(), reason: z.string() }),
    });
  }

  /** A write that was given up may still happen at any time, and one of a deletion also after its statement ended: the write stays under way. */
  async #writing(write: () => Promise<unknown>, touched: Touched, goesOn: boolean): Promise<void> {
    const waiting = this.written?.mayBegin(touched);
    if (waiting) await waiting;
    const end = this.written?.begin(touched);
    const deletes = touched === 'any' ? { deletes: undefined } : 'deletes' in touched && touched;
    const resume = deletes ? this.writtenTraces?.pause(deletes.deletes) : undefined;
    try {
      await write();
      end?.('stored');
      resume?.();
    } catch (err) {
      const isUnderWay = err instanceof StatementHangs && (goesOn || !err.hasEnded);
      end?.(isUnderWay ? 'unknown' : 'failed');
      if (!isUnderWay) resume?.();
      throw err;
    }
  }

  /** The text of an answer, or its bytes where it is long. */
  async #answer(read: ClickHouseRead<unknown>, format: AnswerFormat, settings: Record<string, number>): Promise<string | Buffer> {
    // Its threads take 1 ms to start, of the 2.5 ms that an empty statement takes; answers are small.
    const all = { output_format_parallel_formatting: 0, ...settings };
    const query = this.#withSettings(read, this.#isShared() ? { ...all, ...SHARED_CORES } : all);
    try {
      return await this.#transport.read(this.#statement(read, query), format);
    } catch (err) {
      throw this.#fault(err, read.name);
    }
  }

  /**
   * True when several callers may use the engine at once; then no statement takes all cores. Beside three loops of a scan on two cores a small
   * statement took 11 ms instead of 16 to 20 (p95), and as many scans were done.
   */
  #isShared(): boolean {
    const caller = currentCaller();
    return this.isEmbedded && caller !== undefined && othersArePresent(caller);
  }

  #statement({ params, maxSeconds = DEFAULT_SECONDS }: ClickHouseRead<unknown>, sql: string) {
    return { sql, params, maxSeconds };
  }

  #fault(err: unknown, name: string): unknown {
    // Errors of the embedded engine lack the fields that the client gives an error.
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

/** A line of `JSONEachRowWithProgress`; those of other kinds have none of these. */
interface PageLine {
  row?: unknown;
  rows_before_limit_at_least?: number | string;
  exception?: string;
}

function rowParser<T>(row: ClickHouseRead<T>['row']): (value: unknown) => T {
  return typeof row === 'function' ? row : (value) => row.parse(value);
}

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
