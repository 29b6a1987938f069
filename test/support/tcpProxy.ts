import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy before a server, whose link a test can break. */
export interface TcpProxy {
  port: number;
  /** Sets how new connections are met, and what becomes of open ones. */
  set(state: 'open' | 'reset' | 'stalled'): void;
  /** Gets what clients send. */
  onSent(hear: (data: Buffer, connection: number) => void): void;
  /** Gets what the server sends. */
  onReceived(hear: (data: Buffer, connection: number) => void): void;
  close(): Promise<void>;
}

/**
 * @param keepUpstream milliseconds for which the server does not hear that a connection was reset, as behind a router that lost its table
 * @param latencyMs milliseconds by which what clients send comes later
 */
export async function startTcpProxy(to: { host: string; port: number }, keepUpstream = 0, latencyMs = 0): Promise<TcpProxy> {
  const links = new Set<{ client: Socket; server: Socket }>();
  let state: 'open' | 'reset' | 'stalled' = 'open';
  let hear: (data: Buffer, connection: number) => void = () => {};
  let hearAnswer: (data: Buffer, connection: number) => void = () => {};
  let connections = 0;
  const breakLink = (link: { client: Socket; server: Socket }) => {
    links.delete(link);
    link.client.resetAndDestroy();
    setTimeout(() => link.server.destroy(), keepUpstream).unref();
  };
  const listener = createServer((client) => {
    client.on('error', () => {});
    if (state === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const number = connections++;
    const server = connect(to);
    server.on('error', () => client.destroy());
    const link = { client, server };
    links.add(link);
    client.on('data', (data: Buffer) => {
      hear(data, number);
      if (latencyMs > 0) setTimeout(() => server.write(data), latencyMs);
      else server.write(data);
    });
    server.on('data', (data: Buffer) => {
      hearAnswer(data, number);
      client.write(data);
    });
    client.on('close', () => {
      if (links.delete(link)) server.destroy();
    });
    server.on('close', () => client.destroy());
    if (state === 'stalled') for (const one of [client, server]) one.pause();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    set(next) {
      state = next;
      if (next === 'reset') for (const link of [...links]) breakLink(link);
      for (const { client, server } of links)
        for (const one of [client, server])
          if (next === 'stalled') one.pause();
          else one.resume();
    },
    onSent(given) {
      hear = given;
    },
    onReceived(given) {
      hearAnswer = given;
    },
    async close() {
      for (const link of [...links]) breakLink(link);
      listener.close();
    },
  };
}
