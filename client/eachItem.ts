export interface Page<T> {
  items: T[];
  nextStartingToken: number | null;
}

/** Yields every item of a paged list: one request per page, server order, stops at the first error. */
export async function* eachItem<T>(fetchPage: (startingToken: number) => Promise<Page<T>>): AsyncGenerator<T> {
  for (let token: number | null = 0; token !== null; ) {
    const page: Page<T> = await fetchPage(token);
    yield* page.items;
    token = page.nextStartingToken;
  }
}

/** All items of a paged list at once. */
export async function everyItem<T>(fetchPage: (startingToken: number) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of eachItem(fetchPage)) items.push(item);
  return items;
}
