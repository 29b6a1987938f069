import type { NativeInsert, ParamValue } from './clickHouse.ts';

/** A line for each row; the second format adds the progress and the number of rows before the LIMIT in lines of their own. */
export type AnswerFormat = 'JSONEachRow' | 'JSONEachRowWithProgress';

/** Settings of one insert. */
export type InsertSettings = Record<string, string | 0 | 1>;

/** A read with its settings in its text. */
export interface ReadStatement {
  sql: string;
  params: Record<string, ParamValue> | undefined;
  /** After which the engine gives up. */
  maxSeconds: number;
}

/** One statement that inserts, into this table or into this one last. */
interface TableInsert {
  table: string;
  send(): Promise<unknown>;
}

/** How statements come to the embedded engine, or to a server. What fails is thrown as the engine or the client throws it. */
export interface Transport {
  readonly isEmbedded: boolean;
  /** True while the engine does not come back from a statement that was given up. */
  readonly isLost: boolean;
  /** Rejects when only a new start of the process brings the engine back. */
  readonly broken: Promise<never>;
  /** @returns the text of the answer, or its bytes where it is long. */
  read(statement: ReadStatement, format: AnswerFormat): Promise<string | Buffer>;
  /** The rows, some at a time, while the engine produces them. A signal calls the statement off. */
  rows(statement: ReadStatement, signal: AbortSignal | undefined): AsyncGenerator<Iterable<unknown>>;
  insert(sql: string, body: readonly Buffer[], settings: InsertSettings): Promise<unknown>;
  /** The statements of these inserts: those of a list together, the lists one after the other. */
  insertsInOrder(steps: readonly (readonly NativeInsert[])[]): readonly (readonly TableInsert[])[];
  command(sql: string, params: Record<string, ParamValue>): Promise<unknown>;
  close(): Promise<void>;
}

export const nativeSql = ({ table }: NativeInsert): string => `INSERT INTO ${table} FORMAT Native`;

export const nativeSettings = ({ token, lateIndexes = [] }: NativeInsert): InsertSettings => ({
  insert_deduplication_token: token,
  input_format_parallel_parsing: 0,
  // Looks for rows of one key and copies the block for it: 2.5 of 38 µs of CPU that a record takes.
  optimize_on_insert: 0,
  ...(lateIndexes.length > 0 && { exclude_materialize_skip_indexes_on_insert: lateIndexes.join(',') }),
});
