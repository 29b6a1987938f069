import { currentLogger } from './logger.ts';
import type { SessionFields } from './session.ts';
import { failureOf } from './spans.ts';
import type { TraceFields } from './trace.ts';

/** The parts of a request and response of Express, or of a similar server, that are read. */
export interface ExpressRequest {
  method: string;
  originalUrl?: string;
  url?: string;
  body?: unknown;
}
export interface ExpressResponse {
  statusCode: number;
  once(event: 'close', listener: () => void): unknown;
  send?: (body: unknown) => unknown;
}

export interface RequestTracing<Request> {
  /** The session that a request belongs to; undefined: none. */
  session?: (request: Request) => SessionFields | undefined;
  /** Input of the trace, asked at its end; absent: the parsed body, else method and address. */
  input?: (request: Request) => unknown;
  /** Requests that are not logged, say health checks. */
  ignore?: (request: Request) => boolean;
  /** Tags, metadata and so on; a name other than method and path. */
  fields?: (request: Request) => TraceFields;
}

/** Errors that were thrown while a request was answered. */
const failures = new WeakMap<object, unknown>();

/**
 * Each request is a trace: what its handlers log belongs to it. It ends with the response, has its status, and what was sent as text or JSON. The
 * logger made last logs it; where there is none, nothing is logged.
 */
export function traceRequests<Request extends ExpressRequest>(tracing: RequestTracing<Request> = {}) {
  return (request: Request, response: ExpressResponse, next: () => void): void => {
    const logger = currentLogger();
    if (!logger || tracing.ignore?.(request)) {
      next();
      return;
    }
    const session = tracing.session?.(request);
    const answer = (): void => {
      const address = request.originalUrl ?? request.url ?? '';
      const path = address.replace(/\?.*/, '');
      const trace = logger.startTrace(undefined, { name: `${request.method} ${path}`, ...tracing.fields?.(request) });
      let sent: unknown;
      const { send } = response;
      if (send)
        response.send = function sendLogged(this: unknown, body: unknown) {
          // `json` calls it again with the text; bytes are not for people.
          if (typeof body === 'string') sent = body;
          return send.call(this, body);
        };
      response.once('close', () => {
        const input = tracing.input ? tracing.input(request) : (request.body ?? `${request.method} ${address}`);
        const failure = failures.has(response) ? failureOf(failures.get(response)) : undefined;
        const { statusCode } = response;
        trace.conclude(sent ?? null, { input, statusCode, errorMessage: failure?.errorMessage });
      });
      trace.run(next);
    };
    if (session) logger.startSession(session, answer);
    else answer();
  };
}

/** Says what the handlers of a request threw in its trace, and hands it on: goes behind the routes, before your own handler of errors. */
export function traceErrors() {
  return (error: unknown, _request: unknown, response: object, next: (error: unknown) => void): void => {
    failures.set(response, error);
    next(error);
  };
}
