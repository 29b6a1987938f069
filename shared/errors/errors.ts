/**
 * Every error a caller can understand, in one table: the HTTP status, the published error number and its class.
 * The numbers are part of the interface: add new ones, never renumber. 1006, 3512 and 3520 are given by the interface; the others are ours. A new one
 * takes the number after the highest of its `errorGroup`. Its row in docs/errors.md is where its line is here.
 */
export const errorCodes = {
  NotFound: { status: 404, errorCode: 1006, errorType: 'not_found_error', errorGroup: 'shared' },
  Unauthenticated: { status: 401, errorCode: 1001, errorType: 'credentials_error', errorGroup: 'shared' },
  Forbidden: { status: 403, errorCode: 1003, errorType: 'permission_error', errorGroup: 'shared' },
  BadRequest: { status: 400, errorCode: 1000, errorType: 'data_validation_error', errorGroup: 'shared' },
  MethodNotAllowed: { status: 405, errorCode: 1005, errorType: 'data_validation_error', errorGroup: 'shared' },
  RequestTimeout: { status: 408, errorCode: 1008, errorType: 'data_validation_error', errorGroup: 'shared' },
  Conflict: { status: 409, errorCode: 1009, errorType: 'data_validation_error', errorGroup: 'shared' },
  PreconditionFailed: { status: 412, errorCode: 1012, errorType: 'data_validation_error', errorGroup: 'shared' },
  BodyTooLarge: { status: 413, errorCode: 1013, errorType: 'data_validation_error', errorGroup: 'shared' },
  UnsupportedMediaType: { status: 415, errorCode: 1015, errorType: 'data_validation_error', errorGroup: 'shared' },
  Misdirected: { status: 421, errorCode: 1021, errorType: 'data_validation_error', errorGroup: 'shared' },
  TooManyRequests: { status: 429, errorCode: 1029, errorType: 'rate_limit_error', errorGroup: 'shared' },
  HeadersTooLarge: { status: 431, errorCode: 1031, errorType: 'data_validation_error', errorGroup: 'shared' },
  Internal: { status: 500, errorCode: 1050, errorType: 'system_error', errorGroup: 'shared' },
  Unavailable: { status: 503, errorCode: 1053, errorType: 'system_error', errorGroup: 'shared' },
  ColumnUnknown: { status: 422, errorCode: 2001, errorType: 'data_validation_error', errorGroup: 'records' },
  ColumnNotFilterable: { status: 422, errorCode: 2002, errorType: 'data_validation_error', errorGroup: 'records' },
  ColumnNotSortable: { status: 422, errorCode: 2003, errorType: 'data_validation_error', errorGroup: 'records' },
  QueryTooExpensive: { status: 422, errorCode: 2004, errorType: 'data_validation_error', errorGroup: 'records' },
  RunNotFound: { status: 404, errorCode: 2010, errorType: 'not_found_error', errorGroup: 'records' },
  IntegrationNotFound: { status: 404, errorCode: 3010, errorType: 'not_found_error', errorGroup: 'integrations' },
  ModelUnknown: { status: 422, errorCode: 3011, errorType: 'configuration_error', errorGroup: 'integrations' },
  SecretUnreadable: { status: 503, errorCode: 3012, errorType: 'configuration_error', errorGroup: 'integrations' },
  ProviderFailed: { status: 424, errorCode: 3013, errorType: 'llm_api_error', errorGroup: 'integrations' },
  ExperimentHasNoOutputs: { status: 422, errorCode: 3512, errorType: 'data_validation_error', errorGroup: 'experiments' },
  BaselineNotFound: { status: 404, errorCode: 3511, errorType: 'not_found_error', errorGroup: 'experiments' },
  ExperimentGroupNotFound: { status: 404, errorCode: 3520, errorType: 'not_found_error', errorGroup: 'experiments' },
} as const satisfies Record<string, ErrorCode>;

interface ErrorCode {
  status: number;
  errorCode: number;
  errorType: ErrorType;
  errorGroup: string;
}

type ErrorType =
  | 'llm_api_error'
  | 'credentials_error'
  | 'data_validation_error'
  | 'configuration_error'
  | 'permission_error'
  | 'not_found_error'
  | 'workflow_error'
  | 'rate_limit_error'
  | 'system_error'
  | 'not_applicable_reason'
  | 'uncataloged_error';

export type ErrorName = keyof typeof errorCodes;

export interface Named {
  texts: readonly string[];
  /** Names the first text or key that has one of `texts` in it, not only one that is it. */
  isPart?: boolean;
  /** The key of the body below which it is named, where only that one can be meant. */
  below?: string;
}

export interface ErrorOptions {
  /** Values worth logging and returning beside the message; never a secret, a prompt or a bound value. */
  context?: Record<string, unknown>;
  /** Texts by which the request may name the wrong part: the answer of a 422 points to the place that has them. */
  named?: Named;
  /** Seconds after which the caller may try again; sent as `Retry-After`. */
  retryAfterSeconds?: number;
  cause?: unknown;
}

/** An error whose message is written for the caller. Its answer is written by api/http/errorResponse.ts. */
export class ServiceError extends Error {
  readonly code: ErrorName;
  readonly context: Record<string, unknown> | undefined;
  readonly named: Named | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorName, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.context = options.context;
    this.named = options.named;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  /** True when the same request can never succeed: the client's fault, except where waiting helps (408, 429). */
  get permanent(): boolean {
    return this.status < 500 && this.status !== 408 && this.status !== 429;
  }
}

/** One item of a 422 body (`HTTPValidationError.detail`). `loc` starts with `body`, `query`, `path` or `header`. */
export interface InvalidItem {
  loc: (string | number)[];
  /** Where the place is not known, what is wrong by the words that the request may name it by: the answer has its place as `loc`. */
  named?: Named;
  msg: string;
  type: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/** Problems that one answer lists; a last item counts the others. */
export const LISTED_PROBLEMS = 100;

/** The request does not fit the interface: answered 422 with these items. */
export class RequestInvalid extends Error {
  readonly items: InvalidItem[];

  /** @param more problems that are not among `items`; `unknown` where they were not looked for. */
  constructor(items: InvalidItem[], more: number | 'unknown' = 0) {
    const listed = items.slice(0, LISTED_PROBLEMS);
    const left = more === 'unknown' ? more : more + items.length - listed.length;
    const all = left === 0 ? listed : [...listed, moreProblems(left, listed)];
    super(all.map((item) => `${item.loc.join('.')}: ${item.msg}`).join('; '));
    this.name = 'RequestInvalid';
    this.items = all;
  }
}

/** Returns one problem in place of those that are not listed; its location is the part of the request. */
function moreProblems(count: number | 'unknown', [first]: readonly InvalidItem[]): InvalidItem {
  const loc = first?.loc.slice(0, 1) ?? ['body'];
  const type = 'more_problems';
  return count === 'unknown'
    ? { loc, msg: 'there may be more problems: of a large request only the first is looked for', type }
    : { loc, msg: `and ${count} more ${count === 1 ? 'problem' : 'problems'}`, type, ctx: { count } };
}
