import type { Server } from 'node:http';
import type { Express } from 'express';

export interface Listening {
  /** `http://host:port` as it can be called. */
  url: string;
  /** Takes no new request, lets those under way end, then closes. */
  close(): Promise<void>;
}

/** Milliseconds that requests under way get to end. */
const DRAIN_MS = 10_000;

/** @throws Error with one sentence when the port is taken or the address is not this machine's. */
export async function listen(app: Express, host: string, port: number): Promise<Listening> {
  const server: Server = await new Promise((resolve, reject) => {
    const started = app.listen(port, host, (err?: Error) => (err ? reject(explained(err, host, port)) : resolve(started)));
  });
  // Clients keep connections open for long; a load balancer's idle time is a minute as a rule.
  server.keepAliveTimeout = 75_000;
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), DRAIN_MS).unref();
      }),
  };
}

function explained(err: NodeJS.ErrnoException, host: string, port: number): Error {
  if (err.code === 'EADDRINUSE')
    return new Error(`port ${port} on ${host} is taken: stop what uses it, or set PORT`, { cause: err });
  if (err.code === 'EADDRNOTAVAIL' || err.code === 'ENOTFOUND')
    return new Error(`HOST ${host} is not an address of this machine`, { cause: err });
  if (err.code === 'EACCES') return new Error(`port ${port} needs rights that this process lacks: set PORT`, { cause: err });
  return err;
}
