const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when the signal aborts, or at once where it has; the result forgets it. All rows of a run share its signal, and a signal looks
 * through all of its listeners for each that is added or removed: so it has one, behind which there are many.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  let listeners = listenersOf.get(signal);
  if (!listeners) {
    const all = new Set<() => void>();
    signal.addEventListener('abort', () => all.forEach((one) => void one()), { once: true });
    listenersOf.set(signal, all);
    listeners = all;
  }
  listeners.add(listener);
  return () => listeners.delete(listener);
}
