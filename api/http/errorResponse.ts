import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import { errorCodes, type InvalidItem, RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { isOutOfMemory } from '../../shared/errors/isOutOfMemory.ts';
import { pathInRequest, type RequestParts } from './pathInRequest.ts';
import { discardRest } from './readBody.ts';
import { CallerLeft, type ErrorForm } from './route.ts';

/** The body of an error that has a code: `detail` for one published client, `standard_error` for the other. */
export function errorBody(err: ServiceError, detail: string | InvalidItem[] = err.message) {
  const { status, errorCode, errorType, errorGroup } = errorCodes[err.code];
  return {
    detail,
    error_code: errorCode,
    standard_error: {
      error_code: errorCode,
      error_type: errorType,
      error_group: errorGroup,
      severity: status >= 500 ? 'high' : 'medium',
      message: err.message,
      retriable: !err.permanent,
      blocking: false,
      http_status_code: status,
      source_service: 'assay',
      context: err.context ?? {},
    },
  };
}

/** The schemes that a 401 offers. API keys come in headers of their own, which have no scheme. */
const CHALLENGES = ['Bearer', 'Basic realm="Assay", charset="UTF-8"'];

/** Writes the answer to a caller of the API whose request failed: the only place that does. */
export function errorResponse(log: Logger, lingerMs?: number): ErrorRequestHandler {
  return (err, request, response, _next) => {
    if (isHangUp(err)) {
      log.debug({ path: request.path, requestId: response.locals.requestId }, 'the caller left amid the reply');
      response.destroy();
      return;
    }
    if (response.headersSent) {
      // A stream broke half-way: cutting the connection is the only way left to say so.
      log.error({ err, path: request.path, requestId: response.locals.requestId }, 'reply cut off');
      response.destroy();
      return;
    }
    discardRest(request, response, lingerMs);
    const known = err instanceof ServiceError ? err : (fromExpress(err) ?? ofMemory(err));
    if (err instanceof RequestInvalid || known?.status === 422) {
      send(request, response, 422, invalidBody(err, response.locals.parts));
      return;
    }
    if (known) {
      // Scripts of pages say what they are: a browser would ask for a password in a window of its own, and the script wait for it.
      if (known.status === 401 && request.headers['x-requested-with'] !== 'XMLHttpRequest')
        response.setHeader('WWW-Authenticate', CHALLENGES);
      if (known.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(Math.ceil(known.retryAfterSeconds)));
      if (known.status >= 500)
        log.warn({ err: known, path: request.path, requestId: response.locals.requestId }, 'not available');
      send(request, response, known.status, errorBody(known));
      return;
    }
    log.error({ err, method: request.method, path: request.path, requestId: response.locals.requestId }, 'unexpected error');
    const hidden = new ServiceError('Internal', `internal error; the log names it under request ${response.locals.requestId}`);
    send(request, response, hidden.status, errorBody(hidden));
  };
}

/** The body of every 422, whether a schema refused the request or the domain: `detail` is a list. */
function invalidBody(err: RequestInvalid | ServiceError, parts: RequestParts = {}) {
  if (err instanceof RequestInvalid)
    return { detail: err.items.map(({ named, ...item }) => (named ? { ...item, loc: pathInRequest(parts, named) } : item)) };
  const ctx = { ...err.context, error_code: errorCodes[err.code].errorCode };
  const type = err.code.replaceAll(/(?!^)[A-Z]/g, '_$&').toLowerCase();
  return errorBody(err, [{ loc: pathInRequest(parts, err.named), msg: err.message, type, ctx }]);
}

function send(request: Request, response: Response, status: number, body: { detail: unknown }): void {
  const form = response.locals.errorForm as ErrorForm | undefined;
  const { headers, body: formed } = form?.(request, status, body) ?? { headers: {}, body };
  response.status(status).set(headers);
  if (Buffer.isBuffer(formed)) response.send(formed);
  else response.json(formed);
}

/** The connection was closed while the reply was sent, or before its first byte: nothing of ours failed. */
const isHangUp = (err: unknown): boolean =>
  err instanceof CallerLeft ||
  ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'].includes(String((err as { code?: unknown } | undefined)?.code));

/** Express' own refusals, such as a path that does not decode. */
function fromExpress(err: unknown): ServiceError | undefined {
  const status = (err as { status?: unknown }).status;
  if (status !== 400) return undefined;
  return new ServiceError('BadRequest', 'the request path or query cannot be decoded', { cause: err });
}

/** A shortage of memory passes: nothing was stored, and the request can be sent again. */
function ofMemory(err: unknown): ServiceError | undefined {
  if (!isOutOfMemory(err)) return undefined;
  return new ServiceError('Unavailable', 'the service is short of memory; send this request again later', {
    retryAfterSeconds: 2,
    cause: err,
  });
}
