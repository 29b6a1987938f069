import { QueryClient } from '@tanstack/react-query';
import { HttpStatusError } from '../../../client/errors.ts';
import { ServiceClient } from '../../../client/http.ts';
import { type FollowOptions, followRun, type LiveRecords } from '../../../client/liveRecords.ts';
import { home } from '../address/home.ts';
import { accessToken, forgetToken, ofPage, SignedOut } from '../session/session.ts';

/** Every call of the console: those that any program may make, by the client library. */
const client = new ServiceClient({ apiUrl: `${home.api}/v2`, token: accessToken, retries: 2 });

type Call = Parameters<ServiceClient['send']>[1];

/** One request. A token that has ended is replaced once. */
export async function send<T>(path: string, given: Call = {}): Promise<T> {
  const call = { ...given, headers: ofPage };
  try {
    return await client.send<T>(path, call);
  } catch (err) {
    if (!(err instanceof HttpStatusError) || err.status !== 401) throw err;
    forgetToken();
    return client.send<T>(path, call);
  }
}

/** The content of an answer as it arrives. */
export const download = (path: string, body: object): Promise<ReadableStream<Uint8Array>> =>
  client.download(path, { body, headers: ofPage, repeatable: true });

/** Yields the events of a run as they come, until the signal. A token that has ended is replaced. */
export async function* follow(options: FollowOptions): AsyncGenerator<LiveRecords, void> {
  for (let isRefused = false; ; ) {
    try {
      for await (const event of followRun(client, { ...options, headers: ofPage })) {
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
  const fetchOn: typeof fetch = (url, request) => fetch(url, { ...request, keepalive: true });
  const last = new ServiceClient({ apiUrl: `${home.api}/v2`, token: accessToken, retries: 0, fetch: fetchOn });
  last.send(path, { ...call, headers: ofPage }).catch(() => undefined);
};

/** A search that only reads: it may be sent again. */
export const search = <T>(path: string, body: object, signal: AbortSignal): Promise<T> =>
  send<T>(path, { body, signal, repeatable: true });

const mayPass = (err: unknown): boolean => !(err instanceof SignedOut) && !(err instanceof HttpStatusError && err.status < 500);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: (count, err) => count < 2 && mayPass(err), refetchOnWindowFocus: false },
  },
});
