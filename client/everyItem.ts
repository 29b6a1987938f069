interface Page<T> {
  items: T[];
  nextStartingToken: number | null;
}

/** Every item of a paged list: one request per page, server order, stops at the first error. */
export async function everyItem<T>(fetchPage: (startingToken: number) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let token: number | null = 0; token !== null; ) {
    const page: Page<T> = await fetchPage(token);
    items.push(...page.items);
    token = page.nextStartingToken;
  }
  return items;
}
