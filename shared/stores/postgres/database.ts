import { parseJsonb } from '../../json/parseJson.ts';
import { rethrow } from './databaseErrors.ts';

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

/** Parsers of JSON columns, by the numbers that Postgres gives the types json and jsonb. */
export const jsonParsers = { 114: parseJsonb, 3802: parseJsonb } as const;

/** The rows of each of several statements that were sent together. */
export const rowsOfEach = (results: unknown): Row[][] =>
  [results].flat().map((result) => (result as { rows?: Row[] }).rows ?? []);

/** Queries over a driver: `run` takes one statement with parameters, `exec` several without. An error of the driver becomes one of ours. */
export function queriesOver(
  run: (sql: string, params: unknown[]) => Promise<{ rows: Row[] }>,
  exec: (sql: string) => Promise<unknown>,
): Queries {
  const query = async (sql: string, params: unknown[] = []) => (await run(sql, params).catch(rethrow)).rows;
  return {
    query,
    maybeOne: async (sql, params) => (await query(sql, params))[0],
    exec: async (sql) => void (await exec(sql).catch(rethrow)),
  };
}
