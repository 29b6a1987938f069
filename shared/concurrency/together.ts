/** Waits for all promises and returns their values. When one fails, its error is thrown after all others have ended, so what they opened can be closed. */
export async function together<T extends readonly Promise<unknown>[]>(
  opening: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(opening);
  return Promise.all(opening);
}
