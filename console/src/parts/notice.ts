import { useSyncExternalStore } from 'react';

/** Milliseconds that a sentence stays. */
const STAYS_MS = 5_000;

let current: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function set(text: string | undefined): void {
  current = text;
  for (const listener of listeners) listener();
}

/** Says in a sentence what was just done. */
export function say(text: string): void {
  clearTimeout(timer);
  timer = setTimeout(() => set(undefined), STAYS_MS);
  set(text);
}

export const useNotice = (): string | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
