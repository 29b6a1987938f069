import { randomUUID } from 'node:crypto';
import { createServer, maxHeaderSize, type RequestListener, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../shared/errors/errors.ts';
import { answerHeaders } from './http/answerHeaders.ts';
import { errorBody } from './http/errorResponse.ts';

export interface Listening {
  /** `http://host:port` as it can be called. */
  url: string;
  /** Answers with `app` from now on; until then every request is answered with 503 and Retry-After. */
  serve(app: RequestListener): void;
  /** Aborts when it begins to close. */
  stopping: AbortSignal;
  /** Takes no new connection, lets the requests under way end, then closes. */
  close(): Promise<void>;
}

/** Milliseconds that requests under way get to end. */
const DRAIN_MS = 4_000;
/** Milliseconds for the headers of a request, and for all of it: an upload of 128 MiB at 75 KB/s. The pace of bodies ends a slow one sooner. */
const HEADERS_MS = 20_000;
const REQUEST_MS = 30 * 60_000;
/** Milliseconds between two looks for requests that take longer. */
const CHECK_MS = 5_000;
/** Milliseconds between two looks for connections whose request has ended. */
const SWEEP_MS = 50;

/**
 * Listens at once, so that a taken port is known before anything else is opened.
 * @param setting where the port was set
 * @throws Error with one sentence when the port is taken or the address is not this machine's.
 */
export async function listen(host: string, port: number, setting = 'PORT'): Promise<Listening> {
  let answer: RequestListener = answerStarting;
  let closing: Promise<void> | undefined;
  const stopping = new AbortController();
  const onRequest: RequestListener = (request, response) => {
    for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value);
    if (closing) response.setHeader('Connection', 'close');
    answer(request, response);
  };
  // A request without a host, or with an expectation, would be answered by Node itself, without our headers and form.
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval: CHECK_MS }, onRequest);
  server.on('checkExpectation', onRequest);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(explained(err, host, port, setting)));
    server.listen(port, host, resolve);
  });
  server.on('clientError', refuseUnreadable);
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  // Clients keep connections open for long; a load balancer's idle time is a minute as a rule. The server closes a connection a good deal later than it
  // announces: a busy process would close it before it reads a request that has come, which is then reset.
  server.keepAliveTimeout = 75_000;
  server.keepAliveTimeoutBuffer = 30_000;
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    serve(app) {
      answer = app;
    },
    stopping: stopping.signal,
    close() {
      stopping.abort();
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

/** Answers a request that Node's parser refuses. It never becomes a request object, so the answer goes to the connection itself, which then ends. */
function refuseUnreadable(err: NodeJS.ErrnoException, socket: Duplex): void {
  // Gone, or amid an answer that more bytes would spoil.
  if (err.code === 'ECONNRESET' || !socket.writable || (socket as { _httpMessage?: unknown })._httpMessage) {
    socket.destroy();
    return;
  }
  const refusal = unreadable(err.code);
  const body = JSON.stringify(errorBody(refusal));
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    ...Object.entries(answerHeaders).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function unreadable(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServiceError('HeadersTooLarge', `the request line and headers are longer than ${maxHeaderSize} bytes`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('RequestTimeout', 'the request did not come to its end in time');
  return new ServiceError('BadRequest', 'this is not a request of HTTP/1.1');
}

function explained(err: NodeJS.ErrnoException, host: string, port: number, setting: string): Error {
  if (err.code === 'EADDRINUSE')
    return new Error(`port ${port} on ${host} is taken: stop what uses it, or set ${setting}`, { cause: err });
  if (err.code === 'EADDRNOTAVAIL' || err.code === 'ENOTFOUND' || err.code === 'EAI_AGAIN')
    return new Error(`HOST ${host} is not an address of this machine`, { cause: err });
  if (err.code === 'EACCES')
    return new Error(`port ${port} needs rights that this process lacks: set ${setting}`, { cause: err });
  return err;
}
