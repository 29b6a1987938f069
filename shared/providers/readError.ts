import { type Fields, isObject } from '../wire/isObject.ts';

/** An error as a provider describes it. Texts of the provider are read here and not passed on: they may repeat what was sent. */
export interface DescribedError {
  /** A well-known code, which may be shown. */
  code: string | undefined;
  /** The HTTP status that it means. */
  status: number | undefined;
  isExhausted: boolean;
  isOverload: boolean;
  retryAfterMs: number | undefined;
  /** Fields of the request that it says are not taken. */
  parameters: readonly string[];
}

/** Codes of errors that no waiting cures: https://platform.openai.com/docs/guides/error-codes and the pages of those that speak its protocol. */
const EXHAUSTED: ReadonlySet<string> = new Set([
  ...['insufficient_quota', 'billing_hard_limit_reached', 'billing_hard_limit', 'billing_not_active', 'billing_error'],
  ...['exceeded_current_quota_error', 'exceeded_current_quota', 'quota_exceeded', 'quota_exhausted', 'insufficient_user_quota'],
  ...['insufficient_balance', 'insufficient_credits', 'insufficient_funds', 'out_of_credits', 'no_credits', 'payment_required'],
  ...[
    'credit_balance_too_low',
    'credits_exhausted',
    'budget_exceeded',
    'arrearage',
    'accountoverdueerror',
    'free_quota_exhausted',
  ],
  ...['insufficientquota', 'quotaexceeded', 'spending_limit_reached', 'usage_limit_reached', 'daily_limit_exceeded'],
]);
const exhaustedText = new RegExp(
  [
    'credit balance is too low|insufficient[ _](?:balance|credits?|funds|quota)|not enough (?:credits?|balance|quota)|out of (?:call volume )?quota',
    '(?:ran|run) out of credits|billing hard limit|quota (?:has been |is )?(?:exhausted|used up)|exceeded your current quota|payment required',
    '(?:spending|spend|monthly usage|daily|credit|key) limit (?:has been )?(?:reached|exceeded)|free-models-per-day|\\bin arrears\\b',
    '(?:reached|exceeded) your (?:[a-z]+ ){0,4}(?:usage|spend|spending|monthly|weekly|daily|credit|included) (?:limits?|quota|credits)',
    'limited to [\\d,]+ (?:api )?calls ?(?:/|per) ?month|too many (?:tokens|requests) per day|account (?:is |has been )?suspended,? (?:due to|possibly due to|please check your plan)',
    '余额不足|欠费|额度(?:已|已经)?(?:用尽|用完|不足)',
  ].join('|'),
  'i',
);

const OVERLOAD: ReadonlySet<string> = new Set([
  ...['engine_overloaded', 'engine_overloaded_error', 'overloaded', 'overloaded_error', 'server_overloaded', 'slow_down'],
  ...['rate_limit_error', 'rate_limit_exceeded', 'rate_limit_reached_error', 'rate_limited', 'ratelimitreached'],
  ...['too_many_requests', 'resource_exhausted', 'service_tier_capacity_exceeded'],
]);

/** The status of a code that comes without one. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  ...{ invalid_request_error: 400, invalid_argument: 400, context_length_exceeded: 400, content_filter: 400, bad_request: 400 },
  ...{ content_policy_violation: 400, unsupported_parameter: 400, unsupported_value: 400, failed_precondition: 400 },
  ...{ invalid_api_key: 401, authentication_error: 401, unauthenticated: 401, invalid_authentication_error: 401 },
  ...{ permission_error: 403, permission_denied: 403, not_found_error: 404, model_not_found: 404, not_found: 404 },
  ...{ timeout: 504, timeout_error: 504, deadline_exceeded: 504, internal: 500, internal_error: 500, internal_server_error: 500 },
  ...{ api_error: 500, server_error: 500, unavailable: 503, service_unavailable: 503, bad_gateway: 502, upstream_error: 502 },
};

/** Characters of a plain text that are read. */
const MAX_TEXT = 2_000;

/** The error that the body of an answer describes, in any of the usual forms; undefined where there is none. */
export function readError(body: unknown): DescribedError | undefined {
  // Google's endpoint for clients of OpenAI answers with a list of one.
  const top = Array.isArray(body) ? body[0] : body;
  // Some proxies and servers answer with a plain text; a page is for people.
  if (typeof top === 'string') return /^\s*</.test(top) ? undefined : readError({ error: top.slice(0, MAX_TEXT) });
  if (!isObject(top)) return undefined;
  const given = top.error ?? firstOf(top.errors);
  const nested = isObject(given) && isObject(given.error) ? given.error : given;
  const isError = top.object === 'error' || top.type === 'error' || !('choices' in top);
  const error = isObject(nested) ? nested : isError || given ? top : undefined;
  if (!error) return undefined;
  const text = [nested, error.message, top.message, top.detail, error.detail].filter((one) => typeof one === 'string').join(' ');
  const raw = [error.code, error.type, error.status, error.statusCode, error.status_code, error.error_code, error.reason];
  if (nested !== undefined && typeof nested === 'string') raw.push(nested);
  if (isObject(error.metadata)) raw.push(error.metadata.error_type);
  const words = raw.filter((one) => typeof one === 'string').map((one) => one.trim());
  const keys = words.map((word) => word.toLowerCase());
  const described = new Set([...keys, ...keys.map((key) => key.split('.').at(-1) as string)]);
  const known = [...described].filter((key) => EXHAUSTED.has(key) || OVERLOAD.has(key) || key in STATUS_OF_CODE);
  const numbers = raw.map(Number).filter((code) => Number.isInteger(code) && code >= 400 && code <= 599);
  const details = (Array.isArray(error.details) ? error.details : []).filter(isObject);
  const quotas = details.flatMap(({ violations }) => (Array.isArray(violations) ? violations : [])).filter(isObject);
  const isGoogle = described.has('resource_exhausted');
  // Google says "exceeded your current quota" of a minute's quota too.
  const isExhausted =
    known.some((key) => EXHAUSTED.has(key)) ||
    (isGoogle
      ? quotas.some(({ quotaId }) => typeof quotaId === 'string' && /per_?day|per_?month/i.test(quotaId)) ||
        /\b(per day|daily|per month|monthly|prepayment|credits? (is|are) depleted)\b/i.test(text)
      : exhaustedText.test(text));
  const isOverload = known.some((key) => OVERLOAD.has(key));
  const codes = [...known].sort((a, b) => rankOf(a) - rankOf(b));
  const code = codes[0];
  const status =
    numbers[0] ?? (isExhausted || isOverload ? 429 : undefined) ?? codes.map((key) => STATUS_OF_CODE[key]).find((one) => one);
  return {
    code: code === undefined ? undefined : (words.find((word) => word.toLowerCase() === code) ?? code),
    status: status === 429 && described.has('overloaded_error') ? 529 : status,
    isExhausted,
    isOverload,
    retryAfterMs: secondsIn(details.map(({ retryDelay }) => retryDelay)),
    parameters: parametersIn(error, text),
  };
}

/** True where an answer that holds a completion is an error all the same: most say `"error": null`, some `{"code": 0}`. */
export function holdsError(body: unknown): boolean {
  if (Array.isArray(body)) return body.length > 0 && holdsError(body[0]);
  if (!isObject(body)) return false;
  const { error } = body;
  if (typeof error === 'string') return error !== '';
  if (!isObject(error))
    return body.object === 'error' || body.type === 'error' || (!('choices' in body) && firstOf(body.errors) !== undefined);
  const isNothing = (value: unknown) => value === null || value === undefined || value === '' || value === 0 || value === '0';
  return error.code !== 200 && error.code !== '200' && !Object.values(error).every(isNothing);
}

/** Ranks codes by how precise they are: a used-up quota, then the fault, then the kind of the error. */
const rankOf = (code: string): number =>
  EXHAUSTED.has(code) ? 0 : OVERLOAD.has(code) ? 1 : code === 'invalid_request_error' || code.endsWith('_error') ? 3 : 2;

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

/** `"37s"`, as durations are written in protocol buffers. */
function secondsIn(values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const seconds = typeof value === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(value)?.[1] : undefined;
    if (seconds !== undefined) return Number(seconds) * 1_000;
  }
  return undefined;
}

const unsupported =
  /unsupported|not supported|does(?: not|n't) support|not (?:a )?(?:valid|allowed|permitted|recogni[sz]ed)|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|deprecated|only the default|cannot be used|(?:is|are) (?:not available|unavailable)|no endpoints found|no longer|not enabled|enabled only|is disabled|must (?:be|not)|use '?max_completion_tokens/i;

/** Words of endpoints that mean `response_format` and do not name it. */
const aboutFormat = /json[_ ]?schema|json[_ ]mode|structured[_ ]outputs?|guided[_ ]decoding|the requested parameters/i;

/** Names of fields that the error names as not taken: by `param`, or in a text that says so. */
function parametersIn({ param, code, loc, detail }: Fields, text: string): string[] {
  const isUnsupported = unsupported.test(text) || (typeof code === 'string' && /^(unsupported|unknown)_/.test(code));
  const details = (Array.isArray(detail) ? detail : []).filter(isObject);
  const located = [loc, ...details.map((one) => one.loc)].flatMap((path) => (Array.isArray(path) ? path : []));
  const said = details.map(({ msg }) => (typeof msg === 'string' ? msg : '')).join(' ');
  if (!isUnsupported && !unsupported.test(said)) return [];
  const named = typeof param === 'string' && param !== '' ? [param.split(/[.[]/)[0] as string] : [];
  const pointed = [...named, ...located.filter((one) => typeof one === 'string')];
  if (pointed.length > 0) return pointed;
  const format = aboutFormat.test(text) ? ['response_format'] : [];
  return [...new Set([...format, ...(text.match(/[a-z]+(?:_[a-z]+)*/g) ?? [])])];
}
