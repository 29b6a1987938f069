import { STATUS_CODES } from 'node:http';
import { OutboundRefused } from '../integrations/outbound.ts';
import { retryAfterMs } from '../wire/retryAfter.ts';
import type { AttemptOutcome } from './modelCall.ts';

/** "Site is overloaded", as Anthropic and others answer; no registered status. */
const OVERLOADED = 529;
/** Wrong or missing credentials, no money left, forbidden, no such model or path, or too much for hours. */
const refusals: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429]);

/** The message of a failure where nothing of the other side may be shown. */
export const UNEXPLAINED =
  'the address could not be used: it is in a private range, where no more is said unless the operator names its host and port in OUTBOUND_ALLOW';

/** Why one try failed. Internal to the providers: no cause is kept, because it could hold the other side's answer. */
export class AttemptFailure extends Error {
  readonly outcome: AttemptOutcome;
  readonly retry: boolean;
  readonly status: number | undefined;
  /** What the other side asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** The call was refused because there was too much: it says nothing against the call. */
  readonly isOverload: boolean;

  constructor(
    outcome: AttemptOutcome,
    message: string,
    details: { retry: boolean; status?: number | undefined; retryAfterMs?: number | undefined; isOverload?: boolean },
  ) {
    super(message);
    this.name = 'AttemptFailure';
    this.outcome = outcome;
    this.retry = details.retry;
    const { status } = details;
    this.status = status;
    this.retryAfterMs = details.retryAfterMs;
    this.isOverload =
      details.retry && (details.isOverload || status === 429 || status === OVERLOADED || details.retryAfterMs !== undefined);
  }

  /**
   * What is shown of it where nothing of the other side may be: the same for a closed port and for one that answers. Whether the call is worth
   * another try, and whom the failure speaks against, stays as it is.
   */
  untold(): AttemptFailure {
    const { isOfProvider } = this;
    return Object.defineProperty(new AttemptFailure('connection_error', UNEXPLAINED, { retry: this.retry }), 'isOfProvider', {
      value: isOfProvider,
    });
  }

  /** The other side is down, or refuses whatever it is asked: the next call will most likely fail as this one did. */
  get isOfProvider(): boolean {
    if (this.status !== undefined) return this.status >= 500 || refusals.has(this.status);
    return this.outcome === 'connection_error' || this.outcome === 'timeout' || this.outcome === 'refused';
  }
}

/** Error codes of the protocol that may be repeated in a message: known words cannot carry a secret. */
const KNOWN_CODES: ReadonlySet<unknown> = new Set([
  'content_filter',
  'content_policy_violation',
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'invalid_request_error',
  'model_not_found',
  'rate_limit_exceeded',
  'unsupported_parameter',
  'unsupported_value',
]);

/** What providers say beside a status when there is too much, as `error.code`, `error.type` or `error.status`. */
const OVERLOAD_CODES: ReadonlySet<unknown> = new Set([
  'engine_overloaded',
  'overloaded',
  'overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'server_overloaded',
  'slow_down',
  'RESOURCE_EXHAUSTED',
]);

/** Answers of 429 that no waiting cures. */
const FINAL_CODES: ReadonlySet<unknown> = new Set(['insufficient_quota']);

/**
 * An answer with an error status. Only 408, 429 and 5xx are worth another try.
 * @param body what the other side sent, of which nothing but a well-known error code is repeated.
 */
export function httpFailure(who: string, status: number, headers: Headers, body?: unknown): AttemptFailure {
  const error = (body as { error?: { code?: unknown; type?: unknown; status?: unknown } } | null | undefined)?.error;
  const code = error?.code;
  const phrase = STATUS_CODES[status];
  const text = `${who} answered ${status}${phrase ? ` ${phrase}` : ''}${KNOWN_CODES.has(code) ? ` (${code})` : ''}`;
  return new AttemptFailure(status === 429 ? 'rate_limited' : status === 401 ? 'unauthorized' : 'http_error', text, {
    retry: (status === 408 || status === 429 || status >= 500) && !FINAL_CODES.has(code),
    status,
    retryAfterMs: retryAfterMs(headers, Date.now()),
    isOverload: [code, error?.type, error?.status].some((word) => OVERLOAD_CODES.has(word)),
  });
}

/** System error codes that are safe to name and say what went wrong. */
const CONNECTION_CODES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection broken',
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name not resolved',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  UND_ERR_SOCKET: 'connection closed before the answer was complete',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
};

/** What a failed request without a complete answer means: refused by our own rules, too large, or broken on the way. */
export function connectionFailure(who: string, err: unknown): AttemptFailure {
  if (err instanceof OutboundRefused) return new AttemptFailure('refused', `request refused: ${err.message}`, { retry: false });
  const code = codeOf(err);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new AttemptFailure('malformed_answer', `${who} sent too large an answer`, { retry: false });
  const reason = (code && CONNECTION_CODES[code]) ?? 'the connection failed';
  return new AttemptFailure('connection_error', `${who} could not be reached: ${reason}`, { retry: true });
}

/** True when `err`, or what caused it, is a failure of the connection. */
export function isConnectionFailure(err: unknown): boolean {
  const code = codeOf(err);
  return (
    (code !== undefined && (code in CONNECTION_CODES || code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')) ||
    (err instanceof TypeError && (err.message === 'fetch failed' || err.message === 'terminated'))
  );
}

function codeOf(err: unknown): string | undefined {
  for (let depth = 0, at = err; depth < 5 && at instanceof Error; depth++, at = at.cause) {
    const first = at instanceof AggregateError ? at.errors[0] : undefined;
    const code = (at as { code?: unknown }).code ?? (first as { code?: unknown } | undefined)?.code;
    if (typeof code === 'string' && (code in CONNECTION_CODES || code.startsWith('UND_'))) return code;
  }
  return undefined;
}
