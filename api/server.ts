import { createServer, type RequestListener } from 'node:http';
import { ServiceError } from '../shared/errors.ts';
import { errorBody } from './errorResponse.ts';

export interface Listening {
  /** `http://host:port` as it can be called. */
  url: string;
  /** Answers with `app` from now on; until then every request is told to come back in a moment. */
  serve(app: RequestListener): void;
  /** Takes no new connection, lets the requests under way end, then closes. */
  close(): Promise<void>;
}

/** Milliseconds that requests under way get to end. */
const DRAIN_MS = 4_000;
/** Milliseconds between two looks for connections whose request has ended. */
const SWEEP_MS = 50;

/**
 * Listens at once, so that a taken port is known before anything else is opened.
 * @throws Error with one sentence when the port is taken or the address is not this machine's.
 */
export async function listen(host: string, port: number): Promise<Listening> {
  let answer: RequestListener = answerStarting;
  let closing: Promise<void> | undefined;
  const server = createServer((request, response) => {
    if (closing) response.setHeader('Connection', 'close');
    answer(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(explained(err, host, port)));
    server.listen(port, host, resolve);
  });
  // Clients keep connections open for long; a load balancer's idle time is a minute as a rule.
  server.keepAliveTimeout = 75_000;
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    serve(app) {
      answer = app;
    },
    close() {
      closing ??= new Promise((resolve) => {
        const sweeping = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
        const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
        server.close(() => {
          clearInterval(sweeping);
          clearTimeout(cut);
          resolve();
        });
      });
      return closing;
    },
  };
}

const starting = new ServiceError('Unavailable', 'the service is starting: try again in a moment', { retryAfterSeconds: 1 });

const answerStarting: RequestListener = (_request, response) => {
  response
    .writeHead(starting.status, {
      'Content-Type': 'application/json',
      'Retry-After': String(starting.retryAfterSeconds),
      Connection: 'close', // a body that was not read would be taken for the next request
    })
    .end(JSON.stringify(errorBody(starting)));
};

function explained(err: NodeJS.ErrnoException, host: string, port: number): Error {
  if (err.code === 'EADDRINUSE')
    return new Error(`port ${port} on ${host} is taken: stop what uses it, or set PORT`, { cause: err });
  if (err.code === 'EADDRNOTAVAIL' || err.code === 'ENOTFOUND' || err.code === 'EAI_AGAIN')
    return new Error(`HOST ${host} is not an address of this machine`, { cause: err });
  if (err.code === 'EACCES') return new Error(`port ${port} needs rights that this process lacks: set PORT`, { cause: err });
  return err;
}
