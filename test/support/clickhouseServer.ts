import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as zlib from 'node:zlib';
import { type ChdbEngine, openChdbEngine } from '../../shared/stores/clickhouse/embedded/chdbEngine.ts';
import type { ChdbSession, Statement } from '../../shared/stores/clickhouse/embedded/chdbSession.ts';
import { SHORT_SLEEPS } from '../../shared/stores/clickhouse/embedded/embeddedEngine.ts';
import { httpSettings, summary } from './chdbConnection.ts';
import { type ServerProcess, serverProcess, untilUp } from './serverProcess.ts';

export interface ClickHouseServer extends ServerProcess {
  url: string;
}

/**
 * Starts a ClickHouse server stand-in as a child process: the embedded engine behind as much of ClickHouse's HTTP interface as
 * `@clickhouse/client` uses. It ends with its parent. On the same folder it can be killed and started again.
 */
export async function startClickHouseServer(options: { dataDir: string; port?: number }): Promise<ClickHouseServer> {
  const args = ['--data-dir', options.dataDir, '--port', String(options.port ?? 0)];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    // 16: each running statement holds one libuv thread, and the default of 4 lets slow reads hold up inserts.
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const address = () => /^ready (http:\S+)$/m.exec(printed)?.[1];
  await untilUp(child, async () => address() !== undefined);
  return { url: address() ?? '', ...serverProcess(child) };
}

class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function serve(options: { dataDir: string; port: number }): Promise<{ url: string; close(): Promise<void> }> {
  const engine = openChdbEngine(options.dataDir, { maxReads: 12, engineArguments: SHORT_SLEEPS }); // as the server of docker-compose.yml
  const sessions = new Sessions(engine);
  // ClickHouse takes URLs up to 1 MiB (http_max_uri_size); Node's own limit of 16 KiB would refuse long parameters.
  const server = createServer({ maxHeaderSize: 1024 * 1024 + 16_384 }, (request, response) => {
    answer(sessions, request, response).catch((err: unknown) => fail(response, err));
  });
  // The caller closes what is idle: a busy process closes a connection before it has read the request that has come on it.
  server.keepAliveTimeout = 0;
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      sessions.close();
      await engine.close();
    },
  };
}

async function answer(sessions: Sessions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://server');
  if (url.pathname === '/ping') return end(response, 'Ok.\n');
  if (url.pathname !== '/') throw new HttpError(404, `There is no handle ${url.pathname}\n`);
  const call = await readCall(url.searchParams, request);
  if (call.sql.trim() === '' && call.data === undefined) return end(response, 'Ok.\n');

  response.setHeader('X-ClickHouse-Query-Id', call.queryId);
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  response.setHeader('X-ClickHouse-Server-Display-Name', 'chdb');
  const { session, release } = sessions.take(call.sessionId, call.sessionTimeoutMs);
  try {
    const encode = responseEncoder(call, request, response);
    if (call.data !== undefined) {
      const done = await session.insert({ ...call.statement, sql: call.sql, body: call.data });
      setSummary(response, { written: done.rowsWritten, bytes: done.bytesWritten, seconds: done.elapsedSeconds });
      return end(response, '');
    }
    const format = formatClause.exec(call.sql)?.[1] ?? call.statement.format ?? 'TabSeparated';
    response.setHeader('X-ClickHouse-Format', format);
    response.setHeader(
      'Content-Type',
      /^JSON(?!.*EachRow)/.test(format) ? 'application/json; charset=UTF-8' : 'text/plain; charset=UTF-8',
    );
    if (streamable.has(format) && isSelect(call.sql))
      return await sendStream(session.stream({ ...call.statement, sql: call.sql }), response, encode());
    const result = await session.query({ ...call.statement, sql: call.sql });
    setSummary(response, { read: result.rowsRead, bytes: result.bytesRead, seconds: result.elapsedSeconds });
    await send(Readable.from([result.bytes], { objectMode: false }), response, encode());
  } finally {
    release();
  }
}

interface Call {
  sql: string;
  /** Rows of an INSERT, apart from its SQL. */
  data: Readable | Buffer | undefined;
  statement: Omit<Statement, 'sql'>;
  queryId: string;
  sessionId: string | undefined;
  sessionTimeoutMs: number;
  compress: boolean;
}

// Names in the URL that are not settings: ClickHouse's HTTPHandler reserves them.
const reserved = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'session_id',
  'session_timeout',
  'session_check',
  'user',
  'password',
  'role',
  'quota_key',
  'stacktrace',
]);

async function readCall(search: URLSearchParams, request: IncomingMessage): Promise<Call> {
  const params: Record<string, string> = {};
  const settings: Record<string, string> = {};
  for (const [name, value] of search) {
    if (name.startsWith('param_')) params[name.slice('param_'.length)] = value;
    else if (!reserved.has(name) && !httpSettings.has(name)) settings[name] = value;
  }
  const format = search.get('default_format') ?? header(request, 'x-clickhouse-format');
  const database = search.get('database') ?? header(request, 'x-clickhouse-database');
  const statement = { params, settings, ...(format && { format }), ...(database && { database }) };
  const common = {
    statement,
    queryId: search.get('query_id') ?? randomUUID(),
    sessionId: search.get('session_id') ?? undefined,
    sessionTimeoutMs: Number(search.get('session_timeout') ?? 60) * 1000,
    compress: search.get('enable_http_compression') === '1',
  };
  const urlSql = search.get('query');
  const body = decodedBody(request);
  const contentType = header(request, 'content-type');
  if (contentType?.startsWith('multipart/form-data')) {
    const form = await new Response(new Uint8Array(await buffer(body)), { headers: { 'content-type': contentType } }).formData();
    for (const [name, value] of form) if (name.startsWith('param_')) params[name.slice('param_'.length)] = String(value);
    return { ...common, sql: String(form.get('query') ?? urlSql ?? ''), data: undefined };
  }
  if (urlSql !== null && insertsData.test(urlSql)) return { ...common, sql: urlSql, data: body };
  const text = (await buffer(body)).toString();
  const sql = urlSql === null ? text : text === '' ? urlSql : `${urlSql}\n${text}`;
  // Rows written behind the SQL are given to the engine apart from it.
  const inline = inlineData.exec(sql);
  if (inline?.[1] !== undefined && inline[2] !== undefined) return { ...common, sql: inline[1], data: Buffer.from(inline[2]) };
  return { ...common, sql, data: undefined };
}

const insertsData = /^\s*INSERT\s+INTO\b[\s\S]*\bFORMAT\s+\w+\s*;?\s*$/i;
const inlineData = /^(\s*INSERT\s+INTO\s+(?:(?!\bSELECT\b|\bVALUES\b)[\s\S])*?\bFORMAT\s+(?!Values\b)\w+)\s+(\S[\s\S]*)$/i;
const formatClause = /\bFORMAT\s+(\w+)\s*(?:SETTINGS\b[\s\S]*)?;?\s*$/i;
// Formats whose chunks, one after another, are the document: no header that an empty result must have too, no footer.
const streamable = new Set([
  'JSONEachRow',
  'JSONStringsEachRow',
  'JSONCompactEachRow',
  'JSONCompactStringsEachRow',
  'TabSeparated',
  'TSV',
  'TabSeparatedRaw',
  'CSV',
]);
const isSelect = (sql: string): boolean =>
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|\()*(?:SELECT|WITH)\b/i.test(sql) && !/\bINTO\s+OUTFILE\b/i.test(sql);
const header = (request: IncomingMessage, name: string): string | undefined => [request.headers[name]].flat()[0];

function decodedBody(request: IncomingMessage): Readable {
  const decoder = decoderOf(header(request, 'content-encoding'));
  if (decoder === undefined) return request;
  request.on('error', (err) => decoder.destroy(err));
  return request.pipe(decoder);
}

function decoderOf(encoding: string | undefined): Transform | undefined {
  switch (encoding) {
    case undefined:
    case 'identity':
      return undefined;
    case 'gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'br':
      return zlib.createBrotliDecompress();
    case 'zstd':
      return zlib.createZstdDecompress();
    default:
      throw new HttpError(501, `Code: 48. DB::Exception: Unknown Content-Encoding ${encoding}. (NOT_IMPLEMENTED)`);
  }
}

/** The encoder of this answer, chosen only when the answer's body is sure: an error is sent plain. */
function responseEncoder(call: Call, request: IncomingMessage, response: ServerResponse): () => Transform | undefined {
  return () => {
    const accepted = header(request, 'accept-encoding') ?? '';
    if (!call.compress) return undefined;
    for (const [name, create] of encoders) {
      if (!accepted.includes(name)) continue;
      response.setHeader('Content-Encoding', name);
      return create();
    }
    return undefined;
  };
}

const encoders: readonly (readonly [string, () => Transform])[] = [
  ['gzip', () => zlib.createGzip({ level: 1 })],
  ['br', () => zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', () => zlib.createZstdCompress()],
];

async function sendStream(
  rows: AsyncGenerator<Uint8Array, void>,
  response: ServerResponse,
  encoder: Transform | undefined,
): Promise<void> {
  // The first chunk decides between an error with its own status and a 200, after which an error can only be written into the body.
  const first = await rows.next();
  const tag = randomBytes(8).toString('hex');
  response.setHeader('X-ClickHouse-Exception-Tag', tag);
  setSummary(response, { bytes: 0, seconds: 0 });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (first.done) return;
    yield first.value;
    try {
      yield* rows;
    } catch (err) {
      yield Buffer.from(lateException(messageOf(err), tag));
    }
  }
  await send(Readable.from(chunks(), { objectMode: false }), response, encoder);
}

/** How ClickHouse ends a body whose query failed after the first rows were sent (`X-ClickHouse-Exception-Tag`, since 25.11). */
function lateException(message: string, tag: string): string {
  const text = `${message}\n`;
  return `\r\n__exception__\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n__exception__\r\n`;
}

async function send(body: Readable, response: ServerResponse, encoder: Transform | undefined): Promise<void> {
  try {
    await (encoder ? pipeline(body, encoder, response) : pipeline(body, response));
  } catch (err) {
    // The client left before the end: nothing is owed to it, and the engine has stopped with the stream.
    if (!response.destroyed) throw err;
  }
}

function end(response: ServerResponse, body: string): void {
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.end(body);
}

function setSummary(response: ServerResponse, done: Parameters<typeof summary>[0]): void {
  response.setHeader('X-ClickHouse-Summary', JSON.stringify(summary(done)));
}

function fail(response: ServerResponse, err: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const message = messageOf(err);
  const code = Number(/^Code: (\d+)\./.exec(message)?.[1] ?? 1001);
  response.removeHeader('Content-Encoding');
  response.setHeader('X-ClickHouse-Exception-Code', String(code));
  response.statusCode = err instanceof HttpError ? err.status : statusOf(code);
  end(response, `${message} (version 26.7 (embedded))\n`);
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));

/** The statuses of ClickHouse's exceptionCodeToHTTPStatus, for the codes a client of ours meets. */
function statusOf(code: number): number {
  if ([6, 25, 26, 27, 36, 38, 41, 53, 62, 70, 72, 117, 321, 376, 427, 456, 457].includes(code)) return 400;
  if ([46, 47, 50, 56, 60, 63, 73, 81, 115].includes(code)) return 404;
  if (code === 48) return 501;
  if (code === 373) return 423;
  return 500;
}

/** Sessions named by `session_id`: their settings and temporary tables last until `session_timeout` after the last use. */
class Sessions {
  readonly #engine: ChdbEngine;
  readonly #named = new Map<string, { session: ReturnType<ChdbEngine['openSession']>; busy: boolean; expiry?: NodeJS.Timeout }>();

  constructor(engine: ChdbEngine) {
    this.#engine = engine;
  }

  take(id: string | undefined, timeoutMs: number): { session: ChdbSession; release(): void } {
    if (id === undefined) return { session: this.#engine, release: () => {} };
    const entry = this.#named.get(id) ?? { session: this.#engine.openSession(), busy: false };
    if (entry.busy)
      throw new Error(`Code: 373. DB::Exception: Session ${id} is locked by a concurrent client. (SESSION_IS_LOCKED)`);
    entry.busy = true;
    clearTimeout(entry.expiry);
    this.#named.set(id, entry);
    const release = () => {
      entry.busy = false;
      entry.expiry = setTimeout(() => {
        this.#named.delete(id);
        entry.session.close();
      }, timeoutMs).unref();
    };
    return { session: entry.session, release };
  }

  close(): void {
    for (const { session, expiry } of this.#named.values()) {
      clearTimeout(expiry);
      session.close();
    }
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'data-dir': { type: 'string' }, port: { type: 'string', default: '0' } } });
  if (values['data-dir'] === undefined) throw new Error('usage: clickhouseServer.ts --data-dir DIR [--port N]');
  const server = await serve({ dataDir: values['data-dir'], port: Number(values.port) });
  console.log(`ready ${server.url}`);
  const stop = () => void server.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.stdin.once('end', stop).resume(); // the parent is gone
}
