import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gate } from './deletionStores.ts';

/** An HTTP proxy before the record store that holds inserts up, and delivers them whatever has become of who sent them. */
export interface HoldingProxy {
  url: string;
  /** Holds the next insert into the table up. */
  hold(table: string): {
    /** Resolves when the whole insert has come to the proxy. */
    arrived: Promise<void>;
    /** Delivers it. @returns when the store has answered */
    deliver(): Promise<void>;
  };
  close(): Promise<void>;
}

export async function startHoldingProxy(to: string): Promise<HoldingProxy> {
  const holds = new Map<string, { held: ReturnType<typeof gate>; delivered: () => void }>();
  const server = createServer(async (incoming, answer) => {
    incoming.on('error', () => {});
    answer.on('error', () => {});
    const body = await buffer(incoming);
    const sql = new URL(incoming.url ?? '/', to).searchParams.get('query') ?? '';
    const table = /^INSERT INTO (\w+)/.exec(sql)?.[1] ?? '';
    const hold = holds.get(table);
    holds.delete(table);
    await hold?.held.pass();
    const outgoing = request(new URL(incoming.url ?? '/', to), { method: incoming.method, headers: incoming.headers });
    outgoing.on('error', () => answer.destroy());
    outgoing.end(body);
    const [reply] = await once(outgoing, 'response');
    const text = await buffer(reply);
    hold?.delivered();
    if (answer.destroyed) return;
    const { 'transfer-encoding': _, ...headers } = reply.headers;
    answer.writeHead(reply.statusCode, { ...headers, 'content-length': text.length }).end(text);
  });
  // The caller closes what is idle: a busy process closes a connection before it has read the request that has come on it.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(table) {
      const held = gate();
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(table, { held, delivered: resolve });
      return {
        arrived: held.arrived,
        async deliver() {
          held.open();
          await promise;
        },
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
