/**
 * The process in which the handler class of an integration runs: it makes one instance, which serves all calls that it is sent, and goes when its
 * parent goes. A handler that loops, leaks or crashes takes only this process with it.
 */
import { registerHooks } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dieWithParent } from '../../childProcesses/parentWatch.ts';
import { jsonWithBigInts, parseWithBigInts } from '../../wire/longNumbers.ts';
import { CustomHandler } from './customHandler.ts';
import type { FromHandler, HandlerRequest, ToHandler } from './messages.ts';

/** Characters of an answer's text, and of its tool calls as JSON. */
const MAX_ANSWER = 16 * 1024 * 1024;

// A blocked event loop never sees the channel close.
dieWithParent({ lookMs: 500, graceMs: 0 });
process.on('disconnect', () => process.exit(0));

// Files anywhere find the very class that `load` checks for: a second copy of it would be another one.
const baseClass = new URL(`./customHandler${extname(import.meta.filename)}`, import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'assay/handler' ? { url: baseClass, shortCircuit: true } : next(specifier, context),
});

const send = (message: FromHandler) => process.send?.(message);
let handler: CustomHandler;
const calls = new Map<number, AbortController>();
const fetches = new Map<number, { resolve(response: Response): void; reject(err: unknown): void }>();
/** Failures of requests, as the handler got them. */
const fetchFailures = new WeakMap<object, number>();
let lastFetch = 0;

process.on('message', (message: ToHandler) => {
  switch (message.type) {
    case 'load':
      return void load(message);
    case 'call':
      return void answer(message.id, message.call);
    case 'abort':
      return calls.get(message.id)?.abort();
    case 'ping':
      return send({ type: 'pong' });
    case 'fetched': {
      const { status, headers, body } = message;
      const content = body.byteLength === 0 ? null : new Uint8Array(body);
      return takeFetch(message.id)?.resolve(new Response(content, { status, headers }));
    }
    case 'fetchFailed': {
      const err = Object.assign(new TypeError(message.message), { name: message.name });
      fetchFailures.set(err, message.id);
      return takeFetch(message.id)?.reject(err);
    }
  }
});

function takeFetch(id: number) {
  const waiting = fetches.get(id);
  fetches.delete(id);
  return waiting;
}

async function load({ path, className, initKwargs }: Extract<ToHandler, { type: 'load' }>): Promise<void> {
  try {
    const exported = ((await import(pathToFileURL(path).href)) as Record<string, unknown>)[className];
    if (typeof exported !== 'function') return void send({ type: 'broken', reason: `it exports no class ${className}` });
    if (!(exported.prototype instanceof CustomHandler))
      return void send({ type: 'broken', reason: `${className} does not extend CustomHandler from assay/handler` });
    try {
      handler = new (exported as new (initKwargs: Record<string, unknown>) => CustomHandler)(
        parseWithBigInts(initKwargs) as Record<string, unknown>,
      );
    } catch (err) {
      // Its message may hold a secret of `init_kwargs`.
      return void send({ type: 'broken', reason: `the constructor of ${className} threw ${nameOf(err)}` });
    }
    send({ type: 'ready' });
  } catch (err) {
    send({ type: 'broken', reason: textOf(err).split('\n')[0]?.slice(0, 300) ?? '' });
  }
}

async function answer(id: number, json: string): Promise<void> {
  const abort = new AbortController();
  calls.set(id, abort);
  const start = process.hrtime.bigint();
  try {
    const call = parseWithBigInts(json) as HandlerRequest;
    const given = await handler.complete({ ...call, fetch: fetchOfService, signal: abort.signal });
    const durationNs = Number(process.hrtime.bigint() - start);
    if ((given?.content?.length ?? 0) > MAX_ANSWER || (jsonWithBigInts(given?.toolCalls)?.length ?? 0) > MAX_ANSWER)
      throw new Error(`its answer has more than ${MAX_ANSWER} characters`);
    send({ type: 'answered', id, answer: jsonWithBigInts(given) ?? 'null', durationNs });
  } catch (err) {
    const { status, retryAfterMs } = Object(err) as { status?: unknown; retryAfterMs?: unknown };
    const fetch = fetchFailures.get(Object(err));
    send({
      ...{ type: 'failed', id, text: textOf(err) },
      ...(typeof status === 'number' ? { status } : {}),
      ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}),
      ...(fetch === undefined ? {} : { fetch }),
    });
  } finally {
    calls.delete(id);
  }
}

/** Is made by the service, under its rules for addresses. Bodies are texts; redirects are refused. */
const fetchOfService: typeof fetch = async (input, init = {}) => {
  const { signal } = init;
  signal?.throwIfAborted();
  const id = ++lastFetch;
  const headers = new Headers(init.headers);
  if (init.body instanceof URLSearchParams) headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  const response = new Promise<Response>((resolve, reject) => fetches.set(id, { resolve, reject }));
  const stop = () => {
    send({ type: 'abortFetch', id });
    takeFetch(id)?.reject(signal?.reason);
  };
  signal?.addEventListener('abort', stop, { once: true });
  send({
    ...{ type: 'fetch', id, url: String(input instanceof Request ? input.url : input), method: init.method ?? 'GET' },
    headers: [...headers],
    body: init.body == null ? null : String(init.body),
  });
  return response.finally(() => signal?.removeEventListener('abort', stop));
};

const nameOf = (err: unknown): string => (err instanceof Error ? err.name : 'a value');

/** Returns what was thrown, which may be anything. */
function textOf(err: unknown): string {
  try {
    // `String` of a plain object says only that it is an object.
    return (Object.prototype.toString.call(err) === '[object Object]' && JSON.stringify(err)) || String(err);
  } catch {
    return 'something was thrown that is no text';
  }
}
