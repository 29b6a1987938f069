import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { Labels, Telemetry } from '../../shared/telemetry/telemetry.ts';
import type { Endpoint } from './route.ts';

export interface RequestMetricsDeps {
  telemetry: Pick<Telemetry, 'record' | 'observe'>;
  log: Pick<Logger, 'debug' | 'warn' | 'isLevelEnabled'>;
  /** Milliseconds after which a request is named as slow; 0: none is. */
  slowMs: number;
}

/** The status of a reply whose caller left before it began, as in the log of nginx. */
const CALLER_LEFT = 499;

/** Counts and times every request, and has a line of the log for each: at `debug`, slow ones at `warn`. Goes before all else that answers. */
export function requestMetrics({ telemetry, log, slowMs }: RequestMetricsDeps): RequestHandler {
  let active = 0;
  telemetry.observe('http_server_active_requests', () => [{ value: active, labels: {} }]);
  return (request, response, next) => {
    const begun = performance.now();
    active++;
    response.once('close', () => {
      active--;
      const ms = performance.now() - begun;
      const status = response.headersSent ? response.statusCode : CALLER_LEFT;
      const endpoint: Endpoint | undefined = response.locals.endpoint;
      telemetry.record('http_server_request_duration_seconds', ms / 1_000, {
        http_request_method: methodLabel(request.method),
        http_route: endpoint?.path ?? 'other',
        http_response_status_code: String(status),
      });
      const isSlow = slowMs > 0 && ms >= slowMs && !endpoint?.waits;
      const line = () => lineOf(request, response, endpoint, status, ms);
      if (isSlow) log.warn(line(), 'slow request');
      else if (log.isLevelEnabled('debug')) log.debug(line(), 'request');
    });
    next();
  };
}

/** Neither the query nor a header nor a body: any of them may hold what a log must not. */
const lineOf = (request: Request, response: Response, endpoint: Endpoint | undefined, status: number, ms: number) => ({
  method: request.method,
  path: request.path,
  route: endpoint?.path,
  status,
  ms: Math.round(ms),
  requestId: response.locals.requestId,
});

type Method = Labels<'http_server_request_duration_seconds'>['http_request_method'];
const METHODS: ReadonlySet<string> = new Set<Method>(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const methodLabel = (method: string): Method => (METHODS.has(method) ? (method as Method) : '_OTHER');
