import { jsonWithBigInts, parseWithBigInts } from '../shared/wire/longNumbers.ts';
import { retryAfterMs } from '../shared/wire/retryAfter.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { ConnectionError, HttpStatusError, NotFoundError, ValueError } from './errors.ts';

/**
 * How to reach the service. Absent parts come from the environment: SERVICE_API_URL (or SERVICE_CONSOLE_URL), then SERVICE_API_KEY, or
 * SERVICE_USERNAME and SERVICE_PASSWORD, or SERVICE_JWT_TOKEN; SERVICE_EXTRA_HEADERS.
 */
export interface ClientOptions {
  apiUrl?: string;
  apiKey?: string;
  /** Name of the header that carries the API key. */
  apiKeyHeader?: string;
  /** Gives an access token for each request, in place of an API key. */
  token?: () => Promise<string>;
  /** Milliseconds for one request, its answer included. */
  timeoutMs?: number;
  /** Times a request is sent again after 408, 429, 5xx or a broken connection, honouring Retry-After. */
  retries?: number;
  fetch?: typeof globalThis.fetch;
  logger?: Pick<Console, 'warn'>;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
  /** A body that is JSON text already. */
  json?: string;
  form?: FormData;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  timeoutMs?: number;
  /** Times it is sent again; absent: as the client says. */
  retries?: number;
  /** False where a repeat could do the thing twice. GET, PUT, PATCH and DELETE are safe by what they mean. */
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
  /** Gets the headers of an answer within 2xx. */
  onHeaders?: (headers: Headers) => void;
}

/** The longest pause before a repeat, in milliseconds. A service that asks for a longer one gets no repeat. */
const MAX_PAUSE_MS = 30_000;

/** One service with one set of credentials. */
export class ServiceClient {
  readonly apiUrl: string;
  readonly logger: Pick<Console, 'warn'>;
  private readonly headers: Record<string, string>;
  private readonly token: ClientOptions['token'];
  private readonly timeoutMs: number;
  private readonly retries: number;
  private readonly fetch: typeof globalThis.fetch;

  /** @throws ValueError when there are no credentials in the options or the environment. */
  constructor(options: ClientOptions = {}) {
    const environment = readEnvironment();
    this.apiUrl = (options.apiUrl ?? environment.apiUrl).replace(/\/+$/, '');
    this.token = options.token;
    this.headers = { ...extraHeaders(environment), ...(options.token ? {} : credentialsOf(options, environment)) };
    this.timeoutMs = options.timeoutMs ?? 60_000;
    this.retries = options.retries ?? 5;
    this.fetch = options.fetch ?? ((...request) => globalThis.fetch(...request)); // a browser's refuses to be a method of another object
    this.logger = options.logger ?? console;
  }

  /**
   * Sends one request and gives its JSON answer (undefined for 204).
   * @throws NotFoundError for 404, HttpStatusError for any other answer outside 2xx, ConnectionError when nothing answers.
   */
  async send<T>(path: string, call: Call = {}): Promise<T> {
    const { response, content, method } = await this.exchange(path, call, (answer) => answer.text());
    call.onHeaders?.(response.headers);
    return parsed(response, content, method, path) as T;
  }

  /** Sends one request and gives the content of its answer as it arrives; the time of a request is no limit for it. Throws as `send`. */
  async download(path: string, call: Call = {}): Promise<ReadableStream<Uint8Array>> {
    const unlimited = { ...call, timeoutMs: Number.POSITIVE_INFINITY };
    const { content } = await this.exchange(path, unlimited, async ({ body }) => body ?? new ReadableStream<Uint8Array>());
    return content;
  }

  /** @param read the content of an answer; a connection that breaks meanwhile is one that does not answer */
  private async exchange<T>(path: string, call: Call, read: (response: Response) => Promise<T>) {
    const body = call.form ?? call.json ?? (call.body === undefined ? undefined : jsonWithBigInts(call.body));
    const method = call.method ?? (body === undefined ? 'GET' : 'POST');
    const repeatable = call.repeatable ?? method !== 'POST';
    const retries = call.retries ?? this.retries;
    const request = {
      method,
      headers: {
        accept: 'application/json',
        ...(call.form ? {} : { 'content-type': 'application/json' }),
        'x-service-sdk': 'typescript',
        ...this.headers,
        ...call.headers,
      },
      ...(body === undefined ? {} : { body }),
    };
    for (let attempt = 0; ; attempt++) {
      call.signal?.throwIfAborted();
      let response: Response;
      let text: string;
      const headers = { ...request.headers, ...(this.token ? { authorization: `Bearer ${await this.token()}` } : {}) };
      try {
        response = await this.fetch(this.url(path, call.query), { ...request, headers, signal: this.signalOf(call) });
        if (response.ok) return { response, content: await read(response), method };
        text = await response.text();
      } catch (err) {
        call.signal?.throwIfAborted();
        if (!repeatable || attempt >= retries)
          throw new ConnectionError(
            `${method} ${path}: ${this.apiUrl} does not answer (${reasonOf(err)}); is the service running?`,
            { cause: err },
          );
        await pause(backoffMs(attempt), call.signal);
        continue;
      }
      const failure = failureOf(response, text, method, path);
      const waitMs = retryAfterMs(response.headers, Date.now()) ?? backoffMs(attempt);
      if (!mayPass(response.status, repeatable) || attempt >= retries || waitMs > MAX_PAUSE_MS) throw failure;
      await pause(waitMs, call.signal);
    }
  }

  private signalOf({ timeoutMs = this.timeoutMs, signal }: Call): AbortSignal | null {
    if (timeoutMs === Number.POSITIVE_INFINITY) return signal ?? null;
    const timeout = AbortSignal.timeout(timeoutMs);
    return signal ? AbortSignal.any([timeout, signal]) : timeout;
  }

  private url(path: string, query: Call['query']): string {
    const url = new URL(`${this.apiUrl}${path}`);
    for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(name, String(value));
    return url.href;
  }
}

function credentialsOf(options: ClientOptions, environment: Environment): Record<string, string> {
  const apiKey = options.apiKey ?? environment.apiKey;
  if (apiKey) return { [options.apiKeyHeader ?? 'Service-API-Key']: apiKey };
  const { username, password, token } = environment;
  if (username && password) return { authorization: `Basic ${base64(`${username}:${password}`)}` };
  if (token) return { authorization: `Bearer ${token}` };
  throw new ValueError('no credentials: set SERVICE_API_KEY, or SERVICE_USERNAME and SERVICE_PASSWORD, or pass apiKey');
}

/** Encodes the text's UTF-8 bytes for a header; `btoa` alone takes no character beyond Latin-1. */
const base64 = (text: string): string => btoa(String.fromCodePoint(...new TextEncoder().encode(text)));

function extraHeaders({ extraHeaders: text }: Environment): Record<string, string> {
  if (text === undefined) return {};
  let headers: unknown;
  try {
    headers = JSON.parse(text);
  } catch {
    headers = undefined;
  }
  if (typeof headers !== 'object' || headers === null || !Object.values(headers).every((value) => typeof value === 'string'))
    throw new ValueError('SERVICE_EXTRA_HEADERS must be the JSON text of an object of strings');
  return headers as Record<string, string>;
}

/** A 429 was not taken on, so that even what must not be done twice may be sent again. */
const mayPass = (status: number, repeatable: boolean): boolean =>
  status === 429 || (repeatable && (status === 408 || status >= 500));

function parsed(response: Response, text: string, method: string, path: string): unknown {
  if (response.status === 204) return undefined;
  const body = jsonOf(text);
  if (body !== undefined) return body;
  const said = `${method} ${path} answered ${response.status} without JSON; does the API url lead to the service?`;
  throw new HttpStatusError(said, { status: response.status, requestId: requestIdOf(response), body: text });
}

interface ErrorBody {
  detail?: unknown;
  error_code?: unknown;
  standard_error?: { error_code?: unknown; message?: unknown } | null;
}

function failureOf(response: Response, text: string, method: string, path: string): HttpStatusError {
  // A page that is no JSON is not from the service itself, but from a proxy: shown as it came.
  const body = jsonOf(text) ?? text;
  const { detail, error_code, standard_error } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const errorCode = error_code ?? standard_error?.error_code;
  const details = {
    status: response.status,
    errorCode: typeof errorCode === 'number' ? errorCode : undefined,
    requestId: requestIdOf(response),
    body,
  };
  const message = `${method} ${path} answered ${response.status}: ${saidIn(detail) ?? standard_error?.message ?? text.slice(0, 200)}`;
  return response.status === 404 ? new NotFoundError(message, details) : new HttpStatusError(message, details);
}

function saidIn(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return undefined;
  return detail.map((item: { loc?: unknown[]; msg?: string }) => `${item.loc?.join('.') ?? ''}: ${item.msg ?? ''}`).join('; ');
}

function jsonOf(text: string): unknown {
  try {
    return parseWithBigInts(text);
  } catch {
    return undefined;
  }
}

const requestIdOf = (response: Response): string | undefined => response.headers.get('x-request-id') ?? undefined;

/** Doubling from 200 ms, with a random half so that many clients do not come back together. */
export const backoffMs = (attempt: number): number => Math.min(MAX_PAUSE_MS, 200 * 2 ** attempt) * (0.5 + Math.random() / 2);

/** @throws the signal's reason when it aborts meanwhile. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function reasonOf(err: unknown): string {
  const inner = err instanceof Error && err.cause instanceof Error ? err.cause : err;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
