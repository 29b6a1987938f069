import { randomUUID } from 'node:crypto';
import { type ChdbQueryStream, Session } from 'chdb';
import { together } from '../../../concurrency/together.ts';
import { type HungStatements, readSeconds, StatementHangs } from '../hungStatements.ts';
import { bodyPath, InsertBody, type InsertBytes, piecesOf } from '../insertBody.ts';
import { identifier, literal } from './quotedSql.ts';

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
  body: InsertBytes;
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

type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

const insertHead = /^(?<head>[\s\S]*?)\bFORMAT\s+(?<format>\w+)\s*;?\s*$/i;
// Bound values travel inside a SET here, where the engine's default of 256 KiB for a statement's text would count them; a server does not.
const maxStatementBytes = 64 * 1024 * 1024;

/**
 * A setting that does nothing here and is seen in `system.processes`: it names the session that runs a statement. Comments and `log_comment` do not,
 * since reads have theirs and chDB makes the text of small inserts itself.
 */
export const TAG_SETTING = 'query_cache_tag';

/**
 * No machine code for expressions, aggregates, sorts and patterns. The engine makes it when it sees one for the fourth time, which takes the statement
 * 20 to 150 ms, an insert as well, and gains nothing measurable over a million records.
 */
const INTERPRETED = ['expressions', 'aggregate_expressions', 'sort_description', 'regular_expressions'].map(
  (what) => `--compile_${what}=0`,
);

/** The limit that a read brings along. */
const ownLimit = /\bmax_execution_time = (\d+)/;

/** A session of chDB that is used again: what a statement sets does not reach the next one, unless `keepsState`. */
export class PooledSession implements ChdbSession {
  readonly #session: Session;
  readonly #hung: HungStatements;
  readonly #tag = randomUUID();
  /** The files of the inserts of a statement. */
  readonly #bodies: InsertBody[] = [];
  readonly #bodyPath: string;
  readonly #keepsState: boolean;
  /** Something that ran in it was cancelled, and the engine may still be at that. */
  #wasCancelled = false;
  #settings: string[] = [];
  #database = 'default';

  constructor(dataDir: string, hung: HungStatements, options: { keepsState?: boolean } = {}) {
    const connectionArgs = [`--max_query_size=${maxStatementBytes}`, `--${TAG_SETTING}=${this.#tag}`, ...INTERPRETED];
    this.#session = new Session(dataDir, { connectionArgs });
    this.#bodyPath = bodyPath(dataDir, this.#tag);
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
    const { body } = statement;
    const pieces = piecesOf(body);
    if (pieces?.every(({ length }) => length === 0)) return { rowsWritten: 0, bytesWritten: 0, elapsedSeconds: 0 };
    return this.insertFromFiles([{ ...statement, body: pieces ?? body }], inTurn);
  }

  /**
   * One after the other, as one statement. Settings are in each of them: every step that is a call of its own waits for the event loop, which is busy
   * where much is inserted.
   * @returns what the last of them wrote
   */
  async insertFromFiles(statements: readonly InsertStatement[], inTurn: InTurn): Promise<InsertOutcome> {
    const texts = statements.map(({ sql, settings = {} }, index) => this.#fromFile(sql, settings, this.#body(index)));
    try {
      await together(statements.map(({ body }, index) => this.#body(index).write(body)));
      await this.#prepare({ ...(statements[0] as InsertStatement), settings: {} });
      const result = await inTurn(() =>
        this.#within(this.#hung.limits.insertSeconds, this.#session.queryAsync(texts.join('; '))),
      );
      return { rowsWritten: result.rowsRead, bytesWritten: result.bytesRead, elapsedSeconds: result.elapsed };
    } finally {
      for (const body of this.#bodies) body.empty();
    }
  }

  #body(index: number): InsertBody {
    this.#bodies[index] ??= new InsertBody(`${this.#bodyPath}-${index}`);
    return this.#bodies[index];
  }

  #fromFile(sql: string, settings: Readonly<Record<string, SettingValue>>, { path }: InsertBody): string {
    const parts = insertHead.exec(sql)?.groups;
    if (parts?.head === undefined || parts.format === undefined || /\binput\s*\(/i.test(parts.head)) {
      throw new Error(
        'Code: 48. DB::Exception: the embedded engine takes rows only for INSERT INTO table FORMAT name. (NOT_IMPLEMENTED)',
      );
    }
    const set = Object.entries(settings).map(([name, value]) => assignment(name, value));
    const clause = set.length === 0 ? '' : ` SETTINGS ${set.join(', ')}`;
    return `${parts.head} FROM INFILE ${literal(path)} COMPRESSION 'none'${clause} FORMAT ${parts.format}`;
  }

  /** Runs what must be set before the statement on its own: data and streams cannot follow a SET in one text. */
  async #prepare(statement: Statement): Promise<void> {
    const setUp = this.#setUp(statement);
    if (setUp !== '') await this.#within(this.#hung.limits.insertSeconds, this.#session.queryAsync(setUp));
  }

  #within<T>(seconds: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const onCancel = () => {
      this.#wasCancelled = true;
    };
    return this.#hung.within(seconds, this.#tag, work, onCancel, signal);
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

  /** False when a statement that it runs next might be ended by what was meant for one before. */
  get isReusable(): boolean {
    return !this.#wasCancelled;
  }

  /** Takes a failed statement's left-over output out of the session. False when the session must not be used again. */
  async recover(err: unknown): Promise<boolean> {
    if (!this.isReusable || !(err instanceof Error) || err instanceof StatementHangs || unusableAfter.test(err.message))
      return false;
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
    for (const body of this.#bodies) body.remove();
  }
}

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
