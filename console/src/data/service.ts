import { type Query, QueryClient } from '@tanstack/react-query';
import { ConnectionError, HttpStatusError } from '../../../client/errors.ts';
import { ServiceClient } from '../../../client/http.ts';
import { type FollowProgressOptions, followProgress } from '../../../client/liveProgress.ts';
import { type FollowRunOptions, followRun } from '../../../client/liveRecords.ts';
import { eventsOf } from '../../../client/serverSentEvents.ts';
import { parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { home } from '../address/home.ts';
import { accessToken, forgetToken, ofPage, SignedOut } from '../session/session.ts';
import { connectionFailed } from './connection.ts';

/** Every call of the console: those that any program may make, by the client library. */
const client = new ServiceClient({ apiUrl: `${home.api}/v2`, token: accessToken, retries: 2 });

/** Characters of a body. Browsers refuse bodies of more than 64 KiB altogether that are sent so at a time. */
const MAX_OUTLIVING = 4_000;
const outlivingFetch: typeof fetch = (url, request) =>
  fetch(url, { ...request, keepalive: String(request?.body ?? '').length <= MAX_OUTLIVING });
/** Its requests reach the service although the page is left meanwhile, but for large ones. */
const outliving = new ServiceClient({ apiUrl: `${home.api}/v2`, token: accessToken, retries: 2, fetch: outlivingFetch });

type Call = NonNullable<Parameters<ServiceClient['send']>[1]>;

/** Proxies answer so for a service that does not. */
const isAway = (err: unknown): boolean =>
  err instanceof ConnectionError || (err instanceof HttpStatusError && [502, 503, 504].includes(err.status));

/** One request. A token that has ended is replaced once. */
export const send = <T>(path: string, call: Call = {}): Promise<T> => sendBy<T>(client, path, call);

/** As {@link send}, of a small change that is shown before it is stored: it is made although the page is left at once. */
export const sendOutliving = <T>(path: string, call: Call): Promise<T> => sendBy<T>(outliving, path, call);

async function sendBy<T>(by: ServiceClient, path: string, given: Call): Promise<T> {
  const call = { ...given, headers: { ...given.headers, ...ofPage } };
  try {
    return await by.send<T>(path, call).catch((err: unknown) => {
      if (!(err instanceof HttpStatusError) || err.status !== 401) throw err;
      forgetToken();
      return by.send<T>(path, call);
    });
  } catch (err) {
    if (isAway(err)) void connectionFailed();
    throw err;
  }
}

/** The content of an answer as it arrives. */
export const download = (path: string, call: Pick<Call, 'body' | 'query'>): Promise<ReadableStream<Uint8Array>> =>
  client.download(path, { ...call, headers: ofPage, repeatable: true });

/** As {@link send}, of an answer that is of use only if it is small: one of more bytes is broken off, and undefined. */
export async function sendSmall<T>(path: string, mostBytes: number, call: Call): Promise<T | undefined> {
  const content = await client.download(path, { ...call, headers: ofPage, retries: 0 });
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // Leaving the loop calls off what has not come.
  for await (const part of content) {
    bytes += part.length;
    if (bytes > mostBytes) return undefined;
    text += decoder.decode(part, { stream: true });
  }
  return parseWithBigInts(text + decoder.decode()) as T;
}

/** Yields how many records came to a run, until the signal. */
export const follow = (options: FollowRunOptions) => renewed(() => followRun(client, { ...options, headers: ofPage }));

/** Yields how far the run of an experiment is, until the signal. */
export const followExperiment = (options: FollowProgressOptions) =>
  renewed(() => followProgress(client, { ...options, headers: ofPage }));

/** Sends something once, and yields the events that answer it. Leaving the iteration, or the signal, breaks it off. */
export const events = <T extends { event: string; data: unknown }>(path: string, body: object, signal: AbortSignal) =>
  renewed(async function* (): AsyncGenerator<T, void> {
    const headers = { ...ofPage, accept: 'text/event-stream' };
    const content = await client.download(path, { body, headers, signal, retries: 0 });
    for await (const { name, data } of eventsOf(content)) yield { event: name, data: parseWithBigInts(data) } as T;
  });

/** The events as they come. A token that has ended is replaced. */
async function* renewed<T>(begin: () => AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  for (let isRefused = false; ; ) {
    try {
      for await (const event of begin()) {
        isRefused = false;
        yield event;
      }
      return;
    } catch (err) {
      if (isRefused || !(err instanceof HttpStatusError) || err.status !== 401) throw err;
      isRefused = true;
      forgetToken();
    }
  }
}

/** A request that the browser sends although the page is going; its answer is not read. */
export const sendAtEnd = ({ path, ...call }: { path: string; method?: 'DELETE'; body?: object }): void => {
  outliving.send(path, { ...call, retries: 0, headers: ofPage }).catch(() => undefined);
};

/** A search that only reads: it may be sent again. */
export const search = <T>(path: string, body: object, signal: AbortSignal): Promise<T> =>
  send<T>(path, { body, signal, repeatable: true });

const mayPass = (err: unknown): boolean => !(err instanceof SignedOut) && !(err instanceof HttpStatusError && err.status < 500);

/** Reads again after a change also what was being read for the first time: that answer may be of before the change, and would stand. */
class Queries extends QueryClient {
  override async invalidateQueries(...[filters, options]: Parameters<QueryClient['invalidateQueries']>): Promise<void> {
    const isFirst = ({ state }: Query) => state.data === undefined && state.fetchStatus === 'fetching';
    const begun = new Set(this.getQueryCache().findAll(filters).filter(isFirst));
    await super.invalidateQueries(filters, options);
    if (begun.size > 0) await super.invalidateQueries({ predicate: (query) => begun.has(query) }, options);
  }
}

export const queryClient = new Queries({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: (count, err) => count < 2 && mayPass(err), refetchOnWindowFocus: false },
  },
});
