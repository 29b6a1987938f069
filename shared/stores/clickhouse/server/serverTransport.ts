import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, createClient, type Row } from '@clickhouse/client';
import { currentCaller } from '../../../concurrency/currentCaller.ts';
import { FairTurns } from '../fairTurns.ts';
import { readSeconds, type StatementLimits } from '../hungStatements.ts';
import { type InsertSettings, nativeSettings, nativeSql, type ReadStatement, type Transport } from '../transport.ts';
import { ServerStatement } from './serverStatement.ts';

interface ServerOptions {
  url: string;
  /** Most connections; 10 when absent. */
  connections: number | undefined;
  limits: StatementLimits;
  /** Gets the seconds that a statement waited for a connection. */
  onWait: ((seconds: number) => void) | undefined;
}

const DEFAULT_CONNECTIONS = 10;
/** Connections that callers leave to the service's own work. */
const OWN_CONNECTIONS = 2;

/** The client's own log would repeat each error on our output, with its stack; the caller that gets the error reports it. */
const quiet = { level: ClickHouseLogLevel.OFF };

/** Statements to a server over HTTP. Callers share its connections by turns. */
export function serverTransport({ url, connections, limits, onWait }: ServerOptions): Transport {
  const client = createClient({
    url,
    use_multipart_params_auto: true,
    log: quiet,
    // Each statement has its own limit, and this one would be the first to end a change of a table.
    request_timeout: 2_000 * limits.statementSeconds,
    ...(connections !== undefined && { max_open_connections: connections }),
  });
  const ofCallers = Math.max(1, (connections ?? DEFAULT_CONNECTIONS) - OWN_CONNECTIONS);
  const turns = new FairTurns(ofCallers, Math.max(1, Math.floor(ofCallers * 0.75)), onWait);
  const secondsOf = ({ maxSeconds }: ReadStatement) => readSeconds(maxSeconds, limits);
  /** A whole statement, in its time. */
  const send = <T>(seconds: number, work: (sending: ReturnType<ServerStatement['sending']>) => Promise<T>): Promise<T> => {
    const statement = new ServerStatement(client, limits);
    return statement.within(
      seconds,
      sendOrExplain(() => work(statement.sending())),
    );
  };
  const insert =
    (sql: string, body: readonly Buffer[], settings: InsertSettings) =>
    async (sending: ReturnType<ServerStatement['sending']>) => {
      const values = Readable.from(body, { objectMode: false });
      const { stream } = await client.exec({ query: sql, values, clickhouse_settings: settings, ...sending });
      await stream.resume().toArray();
    };
  return {
    isEmbedded: false,
    isLost: false,
    broken: new Promise<never>(() => {}),
    read(statement, format) {
      const ask = () =>
        send(secondsOf(statement), async (sending) => {
          const { sql, params } = statement;
          const result = await client.query({ query: sql, query_params: { ...params }, format, ...sending });
          return result.text();
        });
      return currentCaller() === undefined ? ask() : turns.run(ask);
    },
    rows: (statement, signal) => streamed(client, statement, secondsOf(statement), new ServerStatement(client, limits, signal)),
    insert: (sql, body, settings) => send(limits.insertSeconds, insert(sql, body, settings)),
    // Records are not sent once more here: a process that stood still finds its connections closed, and has to look first whether it has its locks.
    insertsInOrder: (steps) =>
      steps.map((step) =>
        step.map((one) => ({
          table: one.table,
          send() {
            const statement = new ServerStatement(client, limits);
            const sending = insert(nativeSql(one), one.native, nativeSettings(one))(statement.sending());
            return statement.within(limits.insertSeconds, sending);
          },
        })),
      ),
    command: (sql, params) =>
      send(limits.statementSeconds, (sending) => client.command({ query: sql, query_params: { ...params }, ...sending })),
    close: () => client.close(),
  };
}

/** The rows of an answer, of which each part must come within `seconds`. */
async function* streamed(
  client: ClickHouseClient,
  { sql, params }: ReadStatement,
  seconds: number,
  statement: ServerStatement,
): AsyncGenerator<Iterable<unknown>> {
  const asked = sendOrExplain(() =>
    client.query({ query: sql, query_params: { ...params }, format: 'JSONEachRow', ...statement.sending() }),
  );
  const rows = (await statement.within(seconds, asked)).stream();
  const pages = rows[Symbol.asyncIterator]();
  try {
    for (;;) {
      const page = await statement.within(seconds, pages.next());
      if (page.done) return;
      yield page.value.map((row: Row) => row.json());
    }
  } finally {
    rows.destroy();
  }
}

/**
 * A server, or a proxy before it, closes a connection that was idle for long, maybe at the moment at which a statement is sent over it. It is sent once
 * more then: none does harm when it is done twice.
 */
const sendOrExplain = <T>(send: () => Promise<T>): Promise<T> =>
  send().catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ECONNRESET' || err.code === 'EPIPE') return send();
    throw err;
  });
