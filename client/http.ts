import { readEnvironment } from './environment.ts';
import { ConnectionError, HttpStatusError, NotFoundError, ValueError } from './errors.ts';

/** How to reach the service. Absent parts come from the environment: SERVICE_API_URL, SERVICE_API_KEY, SERVICE_USERNAME and SERVICE_PASSWORD. */
export interface ClientOptions {
  apiUrl?: string;
  apiKey?: string;
  /** Name of the header that carries the API key. */
  apiKeyHeader?: string;
  /** Milliseconds for one request, its answer included. */
  timeoutMs?: number;
  /** Times a request is sent again after 408, 429, 5xx or a broken connection, honouring Retry-After. */
  retries?: number;
  fetch?: typeof globalThis.fetch;
  logger?: Pick<Console, 'warn'>;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body?: unknown;
  form?: FormData;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  timeoutMs?: number;
  /** False where a repeat could do the thing twice. GET, PUT, PATCH and DELETE are safe by what they mean. */
  repeatable?: boolean;
  signal?: AbortSignal;
}

const MAX_PAUSE_MS = 30_000;

/** One service with one set of credentials. */
export class ServiceClient {
  readonly apiUrl: string;
  readonly logger: Pick<Console, 'warn'>;
  private readonly credentials: Record<string, string>;
  private readonly timeoutMs: number;
  private readonly retries: number;
  private readonly fetch: typeof globalThis.fetch;

  /** @throws ValueError when there are no credentials in the options or the environment. */
  constructor(options: ClientOptions = {}) {
    const environment = readEnvironment();
    this.apiUrl = (options.apiUrl ?? environment.apiUrl).replace(/\/+$/, '');
    this.credentials = credentialsOf(options.apiKey ?? environment.apiKey, options.apiKeyHeader ?? 'Service-API-Key', environment);
    this.timeoutMs = options.timeoutMs ?? 60_000;
    this.retries = options.retries ?? 5;
    this.fetch = options.fetch ?? globalThis.fetch;
    this.logger = options.logger ?? console;
  }

  /**
   * Sends one request and gives its JSON answer (undefined for 204).
   * @throws NotFoundError for 404, HttpStatusError for any other answer outside 2xx, ConnectionError when nothing answers.
   */
  async send<T>(path: string, call: Call = {}): Promise<T> {
    const method = call.method ?? (call.body === undefined && call.form === undefined ? 'GET' : 'POST');
    const repeatable = call.repeatable ?? method !== 'POST';
    for (let attempt = 0; ; attempt++) {
      const last = !repeatable || attempt >= this.retries;
      let response: Response;
      try {
        response = await this.fetch(this.url(path, call.query), {
          method,
          headers: {
            accept: 'application/json',
            ...(call.form === undefined ? { 'content-type': 'application/json' } : {}),
            ...this.credentials,
            ...call.headers,
          },
          ...(call.form !== undefined ? { body: call.form } : call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
          signal: AbortSignal.any([AbortSignal.timeout(call.timeoutMs ?? this.timeoutMs), ...(call.signal ? [call.signal] : [])]),
        });
        if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
      } catch (err) {
        call.signal?.throwIfAborted();
        if (last) throw new ConnectionError(`${method} ${path}: ${this.apiUrl} does not answer (${reasonOf(err)}); is the service running?`, { cause: err });
        await pause(backoffMs(attempt), call.signal);
        continue;
      }
      const failure = await failureOf(response, method, path);
      const passing = response.status === 408 || response.status === 429 || response.status >= 500;
      if (!passing || last) throw failure;
      await pause(retryAfterMs(response) ?? backoffMs(attempt), call.signal);
    }
  }

  private url(path: string, query: Call['query']): string {
    const url = new URL(`${this.apiUrl}${path}`);
    for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(name, String(value));
    return url.href;
  }
}

function credentialsOf(apiKey: string | undefined, header: string, environment: { username: string | undefined; password: string | undefined }): Record<string, string> {
  if (apiKey) return { [header]: apiKey };
  if (environment.username && environment.password) return { authorization: `Basic ${Buffer.from(`${environment.username}:${environment.password}`).toString('base64')}` };
  throw new ValueError('no credentials: set SERVICE_API_KEY, or SERVICE_USERNAME and SERVICE_PASSWORD, or pass apiKey');
}

async function failureOf(response: Response, method: string, path: string): Promise<HttpStatusError> {
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not from the service itself, a proxy's page for one: shown as it came.
  }
  const { detail, error_code: errorCode } = (typeof body === 'object' && body !== null ? body : {}) as { detail?: unknown; error_code?: unknown };
  const message = typeof detail === 'string' ? detail : Array.isArray(detail) ? detail.map((item: { loc?: unknown[]; msg?: string }) => `${item.loc?.join('.') ?? ''}: ${item.msg ?? ''}`).join('; ') : text.slice(0, 200);
  const details = {
    status: response.status,
    errorCode: typeof errorCode === 'number' ? errorCode : undefined,
    requestId: response.headers.get('x-request-id') ?? undefined,
    body,
  };
  const full = `${method} ${path} answered ${response.status}: ${message}`;
  return response.status === 404 ? new NotFoundError(full, details) : new HttpStatusError(full, details);
}

function retryAfterMs(response: Response): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const ms = Number.isFinite(Number(value)) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Doubling from 200 ms, with a random half so that many clients do not come back together. */
const backoffMs = (attempt: number): number => Math.min(MAX_PAUSE_MS, 200 * 2 ** attempt) * (0.5 + Math.random() / 2);

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function reasonOf(err: unknown): string {
  const inner = err instanceof Error && err.cause instanceof Error ? err.cause : err;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
