import type { ServiceClient } from './http.ts';

type FetchPage<T> = (startingToken: number) => Promise<{ items: T[]; nextStartingToken: number | null }>;

/** Items of a list that may be long, one request a page: `for await (const item of pages)`, or `await pages.all()`. */
export class Pages<T> implements AsyncIterable<T> {
  private readonly fetchPage: FetchPage<T>;

  constructor(fetchPage: FetchPage<T>) {
    this.fetchPage = fetchPage;
  }

  /** Pages are asked for as they are reached; a reader that stops costs no further request. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (let token: number | null = 0; token !== null; ) {
      const page: Awaited<ReturnType<FetchPage<T>>> = await this.fetchPage(token);
      yield* page.items;
      token = page.nextStartingToken;
    }
  }

  /** Every item, in the order of the service; stops at the first error. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}

/** Most items that the service gives at once. */
const PAGE = 1_000;

/**
 * A list of the service.
 * @param path where it is, or how to find out
 * @param key under which an answer holds its items
 * @param body what a list that is asked for by POST takes
 * @param query more parameters of each request
 */
export function pagesOf<T>(
  client: ServiceClient,
  path: string | (() => Promise<string>),
  key: string,
  body?: object,
  query: Record<string, string | boolean> = {},
): Pages<T> {
  let found: string | undefined;
  return new Pages<T>(async (startingToken) => {
    found ??= typeof path === 'string' ? path : await path();
    const page = await client.send<Record<string, unknown>>(found, {
      ...(body ? { body } : {}),
      query: { ...query, starting_token: startingToken, limit: PAGE },
      repeatable: true,
    });
    return { items: page[key] as T[], nextStartingToken: (page.next_starting_token as number | null | undefined) ?? null };
  });
}
