import { STATUS_CODES } from 'node:http';
import { OutboundRefused } from '../outbound/outbound.ts';
import { retryAfterMs } from '../wire/retryAfter.ts';
import { readError } from './readError.ts';

/** How one try of a call ends. */
export type AttemptOutcome =
  | 'ok'
  | 'rate_limited'
  | 'http_error'
  | 'unauthorized'
  | 'timeout'
  | 'connection_error'
  | 'malformed_answer'
  | 'refused'
  | 'handler_error'
  | 'cancelled';

/** "Site is overloaded", as Anthropic and others answer; no registered status. */
const OVERLOADED = 529;
/** Wrong or missing credentials, no money left, forbidden, no such model or path, or too much for hours. */
const refusals: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429]);

/** The message of a failure where nothing of the other side may be shown. */
export const UNEXPLAINED =
  'the address could not be used: it is in a private range, where no more is said unless the operator names its host and port in OUTBOUND_ALLOW';

interface FailureDetails {
  retry: boolean;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  isOverload?: boolean;
  isExhausted?: boolean;
  refusedParameters?: readonly string[] | undefined;
}

/** Why one try failed. Internal to the providers: no cause is kept, because it could hold the other side's answer. */
export class AttemptFailure extends Error {
  readonly outcome: AttemptOutcome;
  readonly retry: boolean;
  readonly status: number | undefined;
  /** Milliseconds that the endpoint asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** The call was refused because there was too much: it says nothing against the call. */
  readonly isOverload: boolean;
  /** The quota or the credit is used up, or the other side asks to wait for hours: no call will succeed for long. */
  readonly isExhausted: boolean;
  /** Fields of the request that the other side does not take, by its own words. */
  readonly refusedParameters: readonly string[];

  constructor(outcome: AttemptOutcome, message: string, details: FailureDetails) {
    super(message);
    this.name = 'AttemptFailure';
    this.outcome = outcome;
    this.retry = details.retry;
    const { status } = details;
    this.status = status;
    this.retryAfterMs = details.retryAfterMs;
    this.isExhausted = details.isExhausted === true;
    this.refusedParameters = details.refusedParameters ?? [];
    this.isOverload =
      details.retry && (details.isOverload || status === 429 || status === OVERLOADED || details.retryAfterMs !== undefined);
  }

  /**
   * Returns what is shown of it where nothing of the other side may be: the same for a closed port and for one that answers. Whether the call is worth
   * another try, and whom the failure speaks against, stays as it is.
   */
  untold(): AttemptFailure {
    const { isOfProvider, isExhausted } = this;
    const untold = new AttemptFailure('connection_error', UNEXPLAINED, { retry: this.retry, isExhausted });
    return Object.defineProperty(untold, 'isOfProvider', { value: isOfProvider });
  }

  /** The other side is down, or refuses whatever it is asked: the next call will most likely fail as this one did. */
  get isOfProvider(): boolean {
    if (this.isExhausted) return true;
    if (this.status !== undefined) return this.status >= 500 || refusals.has(this.status);
    return this.outcome === 'connection_error' || this.outcome === 'timeout' || this.outcome === 'refused';
  }
}

/** The failure that an answer describes, whatever its status is: an error status, or a 200 that holds an error. */
export function httpFailure(who: string, status: number, headers: Headers, body?: unknown): AttemptFailure {
  const error = readError(body);
  const meant = status >= 300 ? status : error?.status;
  const isExhausted = error?.isExhausted === true || meant === 402;
  const retryAfter = retryAfterMs(headers, Date.now()) ?? error?.retryAfterMs;
  const isLongWait = retryAfter !== undefined && retryAfter >= LONG_WAIT_MS;
  const phrase = meant === undefined ? undefined : STATUS_CODES[meant];
  const named = [
    ...(meant !== undefined && meant !== status ? [`${meant}${phrase ? ` ${phrase}` : ''}`] : []),
    ...(error?.code === undefined ? [] : [error.code]),
  ];
  const text =
    `${who} answered ${status}${status === meant ? (phrase ? ` ${phrase}` : '') : ' with an error'}` +
    `${named.length > 0 ? ` (${named.join(', ')})` : ''}` +
    (isExhausted ? ': its quota or credit is used up' : isLongWait ? `: it asks to wait until ${timeAfter(retryAfter)}` : '');
  return new AttemptFailure(meant === 429 ? 'rate_limited' : meant === 401 ? 'unauthorized' : 'http_error', text, {
    retry: meant !== undefined && (meant === 408 || meant === 429 || meant >= 500) && !isExhausted && !isLongWait,
    status: meant,
    retryAfterMs: retryAfter,
    isOverload: error?.isOverload === true,
    isExhausted: isExhausted || isLongWait,
    refusedParameters: refusing.has(meant) ? error?.parameters : undefined,
  });
}

/** How a field of a request is refused: a gateway that finds no provider for it answers 404, an endpoint that may not give log probabilities 403. */
const refusing: ReadonlySet<number | undefined> = new Set([undefined, 400, 403, 404, 422, 501]);

/** A call whose endpoint asks for a wait this long is not tried again; its failure names the time. */
const LONG_WAIT_MS = 3_600_000;

/** In UTC, to the minute; at most 100 years ahead. */
const timeAfter = (ms: number): string =>
  `${new Date(Date.now() + Math.min(ms, 3.2e12)).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

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

/** Returns what a failed request without a complete answer means: refused by our own rules, too large, or broken on the way. */
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
