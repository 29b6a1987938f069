import { availableParallelism } from 'node:os';
import type { z } from 'zod';
import type { RunRef } from '../../projects/runs.ts';
import type { Deleted } from '../../records/eraseRecords.ts';
import type { RunChange, WrittenRuns } from './embedded/writtenRuns.ts';
import type { WrittenTraces } from './embedded/writtenTraces.ts';

/** Values that a `{name:Type}` placeholder takes. Numbers beyond 2^53 travel as text. */
export type ParamValue = string | number | boolean | readonly string[] | readonly number[];

export interface ClickHouseRead<T> {
  /** Names the statement in `log_comment`, so that a slow one is found in the engine's log. */
  name: string;
  /** Without SETTINGS and FORMAT clauses; placeholders `{name:Type}`. */
  sql: string;
  params?: Record<string, ParamValue>;
  /** Parses one row, as a zod schema or as a function (for rows that are many and come from our own tables). */
  row: z.ZodType<T> | ((row: unknown) => T);
  /** Seconds after which the engine gives up; 30 when absent. */
  maxSeconds?: number;
  /** Engine settings of this statement alone. */
  settings?: Record<string, string | number>;
  /** Bytes of values that it may answer; beyond them it is refused as a query that is too expensive by its `result`. */
  maxResultBytes?: number;
}

/** For a statement of the embedded engine that is to leave cores to others. */
export const SHARED_CORES = { max_threads: Math.ceil(availableParallelism() / 2) };

/** For a statement that is over before a second thread has begun. */
export const ONE_THREAD = { settings: { max_threads: 1 } };

/**
 * For a stream of the embedded engine that has large subqueries: the engine plans it on the event loop. By itself it runs the subqueries of `IN` then, to
 * skip what they do not name and to choose what it reads first, which stopped the process for 0.2 to 1 s of 6 M records. With this it runs them when the
 * first rows are asked for, and skips nothing by them.
 */
export const SUBQUERIES_WITH_ROWS = { use_index_for_in_with_subqueries: 0, optimize_move_to_prewhere: 0 };

const FEW_KEYS = 100;

/**
 * For a statement that finds records by their keys. By a few it reads some granules: a page of 50 took 3.0 ms with one
 * thread instead of 4.9 with two, and half the CPU.
 */
export const threadsFor = (keys: readonly unknown[]): Partial<typeof ONE_THREAD> => (keys.length <= FEW_KEYS ? ONE_THREAD : {});

interface Insert {
  table: string;
  /** Equal for a retry of the same block, which is then stored once; random, never derived from the content. */
  token: string;
}

export interface ClickHouseInsert extends Insert {
  /** Rows as objects, or newline-delimited JSON. */
  rows: Iterable<object> | Buffer;
}

export interface NativeInsert extends Insert {
  /** The pieces of a `NativeBlock`, in which no two rows have the same key. */
  native: readonly Buffer[];
  /** Skip indexes that are built when the new rows are merged, not now; until then their texts are scanned. */
  lateIndexes?: readonly string[];
  /** The changes that it makes in the runs of the record table. */
  changes?: readonly RunChange[];
}

/** A lightweight DELETE, of rows that were stored before it is submitted. */
interface RowDeletion {
  /** From then on the engine carries it out whatever happens to this process, and rows that are written stay. */
  submitted: Promise<void>;
  /** No read finds the rows any more. It waits for merges that have begun: half a minute for a part of 3 GB. */
  gone: Promise<void>;
}

/** The record store's engine: chDB in this process or a ClickHouse server, with the same SQL. 64-bit integers arrive as strings. */
export interface ClickHouse {
  readonly isEmbedded: boolean;
  /** The records of runs, as far as they are known; undefined with a server, to which others write as well. */
  readonly written: WrittenRuns | undefined;
  /** The members of traces, as far as they are known; undefined with a server. */
  readonly writtenTraces: WrittenTraces | undefined;
  /**
   * Resolves when what `written` and `writtenTraces` say of a run is true for all that was answered before. Statements wait by themselves. Absent: nothing
   * is answered before it is written.
   */
  settled?(run: RunRef): Promise<void>;
  /** @throws ServiceError `QueryTooExpensive` at a limit of time or memory, `Unavailable` when the engine is not there. */
  query<T>(read: ClickHouseRead<T>): Promise<T[]>;
  /** As `query`, with the number of rows before the LIMIT of the statement, counted in the same pass. */
  page<T>(read: ClickHouseRead<T>): Promise<{ rows: T[]; total: number }>;
  /** As `query`, row by row while the engine produces them; memory stays flat. A signal calls it off, also before the first row. */
  stream<T>(read: ClickHouseRead<T> & { signal?: AbortSignal | undefined }): AsyncGenerator<T>;
  /** Stored when it returns: readable at once and safe against the death of this process. */
  insert(insert: ClickHouseInsert): Promise<void>;
  /**
   * As `insert`, for inserts of which each list begins when the one before it is stored. To the embedded engine they are one statement.
   * @param confirm asked before each list, or statement: no further one begins when it rejects
   */
  insertInOrder(steps: readonly (readonly NativeInsert[])[], confirm?: () => Promise<void>): Promise<void>;
  /** @throws ServiceError `Unavailable` (from either promise) when the engine does not take it or cannot carry it out. */
  deleteFrom(deletion: {
    table: string;
    where: string;
    params?: Record<string, ParamValue>;
    /** The records of which it deletes rows: all else that is known stays. Absent: any. */
    takes?: Deleted;
  }): RowDeletion;
  /** A statement without a result, such as DDL. */
  command(command: {
    name: string;
    sql: string;
    params?: Record<string, ParamValue>;
    settings?: Record<string, string | number>;
    /** True when the statement does not change the record table: the store keeps what it knows of the records. */
    keepsRecords?: boolean;
  }): Promise<void>;
  /** @throws ServiceError `Unavailable` when a real query fails, or while the embedded engine does not come back from some other statement. */
  ping(): Promise<void>;
  /** Rejects when only a new start of the process brings the embedded engine back. */
  readonly broken: Promise<never>;
  close(): Promise<void>;
}
