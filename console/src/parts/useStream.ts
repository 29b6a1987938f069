import { useEffect, useState, useSyncExternalStore } from 'react';
import { ConnectionError } from '../../../client/errors.ts';
import { connectionFailed } from '../data/connection.ts';

export interface Streamed<T> {
  /** The newest event; undefined before the first. */
  latest: T | undefined;
  isConnected: boolean;
  /** Why the service does not say what comes. */
  error: Error | undefined;
}

/** The callbacks of a stream, and the signal that ends it. */
export interface StreamOptions {
  signal: AbortSignal;
  onConnected(): void;
  onLost(why: unknown): void;
}

const nothing = { latest: undefined, isConnected: false, error: undefined };

/**
 * Follows a stream of events while the page is in sight: browsers have few connections to a site.
 * @param open the same function as long as the same is followed; undefined: nothing is
 * @param keeps what was heard last stays when the page is out of sight
 */
export function useStream<T>(
  open: ((options: StreamOptions) => AsyncGenerator<T, void>) | undefined,
  { keeps }: { keeps: boolean } = { keeps: false },
): Streamed<T> {
  const [streamed, setStreamed] = useState<Streamed<T> & { of: typeof open }>({ ...nothing, of: open });
  const isInSight = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
  useEffect(() => {
    if (!open || !isInSight) return;
    const left = new AbortController();
    const change = (changed: Partial<Streamed<T>>) =>
      setStreamed((before) => ({ ...(before.of === open ? before : nothing), ...changed, of: open }));
    listen(open, left.signal, change).catch((err: unknown) => {
      if (!left.signal.aborted) change({ ...nothing, error: err instanceof Error ? err : new Error(String(err)) });
    });
    return () => {
      left.abort();
      change(keeps ? { isConnected: false } : nothing);
    };
  }, [open, isInSight, keeps]);
  return streamed.of === open ? streamed : nothing;
}

async function listen<T>(
  open: (options: StreamOptions) => AsyncGenerator<T, void>,
  signal: AbortSignal,
  onChange: (change: Partial<Streamed<T>>) => void,
): Promise<void> {
  let losses = 0;
  const events = open({
    signal,
    onConnected() {
      losses = 0;
      onChange({ isConnected: true, error: undefined });
    },
    onLost(why) {
      // A stream that ends is opened again at once; only when nothing answers then is the connection lost.
      if (++losses > 1 && why instanceof ConnectionError) void connectionFailed();
      onChange({ isConnected: false });
    },
  });
  for await (const latest of events) if (!signal.aborted) onChange({ latest });
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
