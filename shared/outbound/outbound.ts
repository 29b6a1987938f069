import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher, errors, Pool } from 'undici';
import { addressKind, METADATA_NAMES } from './addressKind.ts';
import { hostOf, parseAllowList } from './outboundAllow.ts';

/** A request to a user-supplied address that this service must not make. The message names the rule, never the answer of the other side. */
export class OutboundRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OutboundRefused';
  }
}

export interface OutboundRules {
  /** `OUTBOUND_ALLOW`: host, host:port or CIDR. Lifts the ban on private ranges, never the one on link-local metadata addresses. */
  allow: readonly string[];
  /** True for the embedded service on a loopback HOST that no proxy makes public: its callers are on this machine already. */
  allowLoopback: boolean;
  /** Name resolution; tests give their own to rebind names. */
  lookup?: typeof systemLookup;
}

/**
 * The only way out to addresses that users supplied.
 *
 * Neither undici nor Node.js takes a rule for the addresses that a request may reach: https://github.com/nodejs/undici/issues/2019 and
 * https://github.com/nodejs/node/issues/55000. Filters for `http.Agent` do not hold for undici. None of them lets an operator open
 * private ranges and keeps metadata addresses shut. When undici takes a rule for each connection, the checks of connections here go.
 */
export interface OutboundGuard {
  /**
   * Checks an address when it is saved: form, scheme, and every address its name resolves to now. A name that does not resolve is accepted: the
   * check is repeated for each connection.
   * @throws OutboundRefused
   */
  check(url: string): Promise<void>;
  /**
   * A request under the same rules, checked again on the address that is really connected to; its answer is read whole. Redirects are refused, and
   * answers above `most` bytes, of which no more is read. Bound in time only by the caller's signal.
   * @throws OutboundRefused, the signal's reason, or a TypeError `fetch failed` with the cause, as `fetch` would
   */
  request(url: string, init: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * As `request`, for an answer that is read while it comes: resolves when its headers are there. Its parts end with an error as `request` does, and
   * above `most` bytes. A reader that stops before their end closes the connection.
   */
  open(url: string, init: Omit<OutboundRequest, 'reserve'>): Promise<OutboundStream>;
  /**
   * False for an address in a private range that the rules let in without naming its port: whatever fails there has one message, so that
   * errors do not show which ports of a network are open. A name counts by the addresses that it was last connected to.
   */
  mayExplain(url: string): boolean;
  /** The same as `fetch`, for code that is not ours: its Response costs several times the CPU. */
  fetch: typeof fetch;
  close(): Promise<void>;
}

export interface OutboundRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | null;
  signal: AbortSignal | null;
  /** Bytes that the answer may have. */
  most: number;
  /** Is asked once, before more than {@link SMALL_ANSWER_BYTES} of the answer are read, for so many bytes in all; until it resolves the answer waits. */
  reserve?: ((bytes: number) => Promise<void>) | undefined;
}

export interface OutboundAnswer {
  status: number;
  /** Names in lower case; a header that came several times has a list. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  bytes: ArrayBuffer;
}

export interface OutboundStream extends Pick<OutboundAnswer, 'status' | 'headers'> {
  parts: AsyncGenerator<Uint8Array, void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const SAVE_TIME_LOOKUP_MS = 2_000;
/** The largest answer for code that is not ours: handlers of models, tokens. */
const FETCHED_BYTES = 16 * 1024 * 1024;
/** Answers up to this size are read without a look at what others hold. */
export const SMALL_ANSWER_BYTES = 64 * 1024;
const MAX_TARGETS = 1_000;

/** @throws Error naming the entry of `OUTBOUND_ALLOW` that is none of host, host:port, CIDR. */
export function createOutboundGuard(rules: OutboundRules): OutboundGuard {
  const { allowed, isPortNamed } = parseAllowList(rules.allow);
  const resolve = rules.lookup ?? systemLookup;

  const refusal = (address: string, host: string, port: number): string | undefined => {
    const { range, judged } = addressKind(address);
    if (range === 'public') return undefined;
    if (range === 'metadata')
      return `${describe(host, address)} is a link-local or cloud metadata address; requests there are never allowed`;
    if (range === 'loopback' && rules.allowLoopback) return undefined;
    if (allowed(host, judged, port)) return undefined;
    return `${describe(host, address)} is a ${range} address; the operator can allow it in OUTBOUND_ALLOW (host, host:port or CIDR)`;
  };

  const isOpen = (address: string, host: string, port: number): boolean => {
    const { range } = addressKind(address);
    // Callers who are on this machine can look at its ports themselves.
    return range === 'public' || (range === 'loopback' && rules.allowLoopback) || isPortNamed(host, address, port);
  };
  /** Names that led to addresses which are not open, with the port. */
  const quiet = new LRUCache<string, true>({ max: MAX_TARGETS });

  /** Checks all that can be known without resolving the name. */
  const parse = (text: string): { url: URL; host: string; port: number } => {
    if (!URL.canParse(text)) throw new OutboundRefused('not a URL: it must look like https://host/path');
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new OutboundRefused(`the scheme ${url.protocol}// is not allowed; use https:// or http://`);
    if (url.username !== '' || url.password !== '')
      throw new OutboundRefused('a URL must not hold a user name or password; use the fields for credentials');
    const host = hostOf(url);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    if (METADATA_NAMES.has(host))
      throw new OutboundRefused(`${host} is a cloud metadata address; requests there are never allowed`);
    // An address needs no name resolution, so the connection's lookup would never see it.
    const refused = isIP(host) ? refusal(host, host, port) : undefined;
    if (refused) throw new OutboundRefused(refused);
    return { url, host, port };
  };

  const lookupFor =
    (host: string, port: number): LookupFunction =>
    (name, options, callback) =>
      resolve(name, { ...options, all: true }, (err, addresses) => {
        if (err) return callback(err, '', 0);
        for (const { address } of addresses) {
          const refused = refusal(address, host, port);
          if (refused) return callback(new OutboundRefused(refused), '', 0);
        }
        if (!addresses.every(({ address }) => isOpen(address, host, port))) quiet.set(`${host} ${port}`, true);
        if (options.all) return callback(null, addresses);
        const first = addresses[0];
        callback(null, first?.address ?? '', first?.family ?? 0);
      });

  const agent = new Agent({
    factory: (origin, options) => {
      const { host, port } = parse(String(origin));
      return new Pool(origin, { ...options, connect: { timeout: CONNECT_TIMEOUT_MS, lookup: lookupFor(host, port) } });
    },
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  // An address is parsed once: thousands of calls go to the same one.
  const targets = new LRUCache<string, { origin: string; path: string }>({ max: MAX_TARGETS });
  const targetOf = (text: string) => {
    const known = targets.get(text);
    if (known) return known;
    const { url } = parse(text);
    const target = { origin: url.origin, path: `${url.pathname}${url.search}` };
    targets.set(text, target);
    return target;
  };

  const mayExplain: OutboundGuard['mayExplain'] = (text) => {
    try {
      const { host, port } = parse(text);
      return isIP(host) ? isOpen(host, host, port) : !quiet.has(`${host} ${port}`);
    } catch {
      return true; // refused by a rule, which says itself why
    }
  };

  /** As `fetch` would say it, so that its callers need to know one form only. */
  const failureOf = (err: unknown, signal: AbortSignal | null): unknown =>
    signal?.aborted ? signal.reason : (refusedCause(err) ?? new TypeError('fetch failed', { cause: err }));

  /** An answer whose body is still to be read. */
  const begun = async (to: string, { method, headers, body, signal }: Omit<OutboundRequest, 'most' | 'reserve'>) => {
    const target = targetOf(to);
    const answer = await agent.request({
      ...target,
      method: method as Dispatcher.HttpMethod,
      headers: { ...headers, 'accept-encoding': 'identity' },
      body,
      signal,
    });
    const { statusCode: status } = answer;
    if (status >= 300 && status < 400 && answer.headers.location !== undefined) {
      await answer.body.dump();
      if (!mayExplain(to)) throw new Error('a redirect');
      throw new OutboundRefused(`${target.origin} answered with a redirect (${status}); redirects are not followed`);
    }
    return answer;
  };

  const request: OutboundGuard['request'] = async (to, init) => {
    try {
      const answer = await begun(to, init);
      return {
        status: answer.statusCode,
        headers: answer.headers,
        bytes: await readWithin(answer, init.most, init.reserve),
      };
    } catch (err) {
      throw failureOf(err, init.signal);
    }
  };

  const open: OutboundGuard['open'] = async (to, init) => {
    const { signal, most } = init;
    try {
      const answer = await begun(to, init);
      const parts = async function* () {
        let size = 0;
        try {
          for await (const part of answer.body as AsyncIterable<Uint8Array>) {
            size += part.length;
            if (size > most) throw new errors.ResponseExceededMaxSizeError();
            yield part;
          }
        } catch (err) {
          throw failureOf(err, signal);
        }
      };
      return { status: answer.statusCode, headers: answer.headers, parts: parts() };
    } catch (err) {
      throw failureOf(err, signal);
    }
  };

  return {
    async check(text) {
      const { host, port } = parse(text);
      if (isIP(host)) return;
      for (const address of await addressesOf(resolve, host)) {
        const refused = refusal(address, host, port);
        if (refused) throw new OutboundRefused(refused);
      }
    },
    request,
    open,
    mayExplain,
    fetch: async (input, init = {}) => {
      const headers = new Headers(init.headers);
      if (init.body instanceof URLSearchParams) headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
      const answer = await request(String(input instanceof Request ? input.url : input), {
        method: init.method ?? 'GET',
        headers: Object.fromEntries(headers),
        body: init.body == null ? null : String(init.body),
        signal: init.signal ?? null,
        most: FETCHED_BYTES,
      });
      const body = answer.bytes.byteLength === 0 ? null : answer.bytes;
      return new Response(body, { status: answer.status, headers: headersOf(answer.headers) });
    },
    close: () => agent.close(),
  };
}

/** The body of an answer: what is too large is not read to its end, and the connection is closed. */
async function readWithin(
  { body, headers }: Dispatcher.ResponseData,
  most: number,
  reserve: OutboundRequest['reserve'],
): Promise<ArrayBuffer> {
  const announced = Number(headers['content-length'] ?? most);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let reserved = reserve === undefined;
  // Leaving the loop by an error destroys the body.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > most || announced > most) throw new errors.ResponseExceededMaxSizeError();
    chunks.push(chunk);
    if (reserved || size <= SMALL_ANSWER_BYTES) continue;
    reserved = true;
    await reserve?.(announced);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole.buffer;
}

/** The headers of an answer in the form of `fetch`. */
export function headersOf(received: OutboundAnswer['headers']): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}

/** The refusal of a connection's lookup, however deep `fetch` has wrapped it. */
function refusedCause(err: unknown): OutboundRefused | undefined {
  for (let depth = 0, at = err; depth < 4 && at instanceof Error; depth++, at = at.cause) {
    if (at instanceof OutboundRefused) return at;
    if (at instanceof AggregateError) {
      const inner = at.errors.find((one) => one instanceof OutboundRefused);
      if (inner) return inner as OutboundRefused;
    }
  }
  return undefined;
}

/** Every address the name has now; none when it does not resolve in time. */
function addressesOf(resolve: typeof systemLookup, host: string): Promise<string[]> {
  return new Promise((settle) => {
    const timer = setTimeout(() => settle([]), SAVE_TIME_LOOKUP_MS);
    resolve(host, { all: true }, (err, addresses) => {
      clearTimeout(timer);
      settle(err ? [] : addresses.map(({ address }) => address));
    });
  });
}

const describe = (host: string, address: string): string => (host === address ? host : `${host} (${address})`);
