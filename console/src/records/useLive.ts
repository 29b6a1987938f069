import { onlineManager } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { ConnectionError } from '../../../client/errors.ts';
import type { LiveRecords } from '../../../client/liveRecords.ts';
import type { RunOf } from '../data/records.ts';
import { runSelector } from '../data/selection.ts';
import { follow } from '../data/service.ts';

export interface Live {
  /** Numbers of records as of a moment ago; undefined before the first. */
  latest: LiveRecords | undefined;
  isConnected: boolean;
  /** Why the service does not say what comes. */
  error: Error | undefined;
}

const nothing: Live = { latest: undefined, isConnected: false, error: undefined };

/** Follows the counts of the run while the page is in sight: browsers have few connections to a site. */
export function useLive(run: RunOf, isOn: boolean): Live {
  const [live, setLive] = useState(nothing);
  const isInSight = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
  useEffect(() => {
    if (!isOn || !isInSight) return;
    const left = new AbortController();
    listen(run, left.signal, (change) => setLive((before) => ({ ...before, ...change }))).catch((err: unknown) => {
      if (!left.signal.aborted) setLive({ ...nothing, error: err instanceof Error ? err : new Error(String(err)) });
    });
    return () => {
      left.abort();
      setLive(nothing);
      onlineManager.setOnline(navigator.onLine);
    };
  }, [run, isOn, isInSight]);
  return live;
}

async function listen(run: RunOf, signal: AbortSignal, onChange: (change: Partial<Live>) => void): Promise<void> {
  let losses = 0;
  const events = follow({
    projectId: run.projectId,
    run: runSelector(run),
    signal,
    onConnected() {
      losses = 0;
      onlineManager.setOnline(true);
      onChange({ isConnected: true, error: undefined });
    },
    onLost(why) {
      // A stream that ends is opened again at once; only when nothing answers then is the connection lost.
      if (++losses > 1 && why instanceof ConnectionError) onlineManager.setOnline(false);
      onChange({ isConnected: false });
    },
  });
  for await (const latest of events) if (!signal.aborted) onChange({ latest });
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
