/** Work whose result is awaited later, or not at all where what is beside it fails first: its own failure ends no process until then. */
export function begun<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
