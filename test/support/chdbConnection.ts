import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ClickHouseClientConfigOptions, ClickHouseSettings } from '@clickhouse/client';
import { type ChdbEngine, paramText } from '../../shared/stores/clickhouse/embedded/chdbEngine.ts';
import type { SettingValue, Statement } from '../../shared/stores/clickhouse/embedded/chdbSession.ts';
import { clickHouseError } from '../../shared/stores/clickhouse/statementErrors.ts';

type Connection = NonNullable<ClickHouseClientConfigOptions['connection']>;
type Query = Parameters<Connection['query']>[0];

/**
 * The embedded engine as a connection of `@clickhouse/client`, so that the same cases run against it and against a server:
 * `createClient({ connection: chdbConnection(engine) })`.
 * `close` of the client leaves the engine open; the code that opened it closes it.
 */
export function chdbConnection(engine: ChdbEngine): Connection {
  return {
    async query(query) {
      const result = await asClickHouseError(engine.query(toStatement(query)));
      return { ...baseResult(query), stream: Readable.from([result.bytes], { objectMode: false }) };
    },
    async command(query) {
      const result = await asClickHouseError(engine.query(toStatement(query)));
      return {
        ...baseResult(query),
        summary: summary({ read: result.rowsRead, bytes: result.bytesRead, seconds: result.elapsedSeconds }),
      };
    },
    async exec(query) {
      if (query.values !== undefined) {
        const done = await asClickHouseError(engine.insert({ ...toStatement(query), body: query.values }));
        return {
          ...baseResult(query),
          stream: Readable.from([]),
          summary: summary({ written: done.rowsWritten, bytes: done.bytesWritten, seconds: done.elapsedSeconds }),
        };
      }
      const result = await asClickHouseError(engine.query(toStatement(query)));
      return {
        ...baseResult(query),
        stream: Readable.from([result.bytes], { objectMode: false }),
        summary: summary({ read: result.rowsRead, bytes: result.bytesRead, seconds: result.elapsedSeconds }),
      };
    },
    async insert(query) {
      const done = await asClickHouseError(engine.insert({ ...toStatement(query), body: query.values }));
      return {
        ...baseResult(query),
        summary: summary({ written: done.rowsWritten, bytes: done.bytesWritten, seconds: done.elapsedSeconds }),
      };
    },
    async ping() {
      try {
        await asClickHouseError(engine.query({ sql: 'SELECT 1' }));
        return { success: true };
      } catch (error) {
        return { success: false, error: error as Error };
      }
    },
    close: async () => {},
  };
}

// They steer ClickHouse's HTTP server and are unknown to the engine, which would refuse the whole statement.
export const httpSettings: ReadonlySet<string> = new Set([
  'default_format',
  'wait_end_of_query',
  'enable_http_compression',
  'http_zlib_compression_level',
  'http_response_buffer_size',
  'http_headers_progress_interval_ms',
  'send_progress_in_http_headers',
]);

function toStatement({ query, query_params = {}, clickhouse_settings = {}, abort_signal }: Query): Statement {
  return {
    sql: query,
    params: Object.fromEntries(Object.entries(query_params).map(([name, value]) => [name, paramText(value)])),
    settings: engineSettings(clickhouse_settings),
    signal: abort_signal,
  };
}

function engineSettings(settings: ClickHouseSettings): Record<string, SettingValue> {
  const set = Object.entries(settings).filter(([name, value]) => value !== undefined && !httpSettings.has(name));
  return Object.fromEntries(
    set.map(([name, value]) => [name, typeof value === 'object' ? String(value) : (value as SettingValue)]),
  );
}

const baseResult = ({ query_id }: Query) => ({ query_id: query_id ?? randomUUID(), response_headers: {}, http_status_code: 200 });

/** Returns what a server says of a statement that it has done: the counts, as text. */
export const summary = (done: { read?: number; written?: number; bytes: number; seconds: number }) => ({
  read_rows: String(done.read ?? 0),
  read_bytes: String(done.read === undefined ? 0 : done.bytes),
  written_rows: String(done.written ?? 0),
  written_bytes: String(done.written === undefined ? 0 : done.bytes),
  total_rows_to_read: '0',
  result_rows: String(done.read ?? 0),
  result_bytes: '0',
  elapsed_ns: String(Math.round(done.seconds * 1e9)),
});

async function asClickHouseError<T>(work: Promise<T>): Promise<T> {
  return work.catch((err: unknown) => {
    throw clickHouseError(err);
  });
}
