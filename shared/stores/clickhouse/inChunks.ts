// An id is 39 bytes of statement text; chDB and servers take statements of some megabytes, and one look-up stays under 100 ms.
const MAX_IDS = 10_000;

/** Reads what belongs to any number of ids, `size` at a time. */
export async function inChunks<T, R>(items: readonly T[], read: (chunk: T[]) => Promise<R[]>, size = MAX_IDS): Promise<R[]> {
  const found: R[][] = [];
  for (let from = 0; from < items.length; from += size) found.push(await read(items.slice(from, from + size)));
  return found.flat();
}
