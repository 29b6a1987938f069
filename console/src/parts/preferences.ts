import { useSyncExternalStore } from 'react';

/** How one person likes the console, in this browser. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  rows: 'comfortable' | 'dense';
  zone: 'local' | 'UTC';
}

const KEY = 'assay preferences';
const usual: Preferences = { theme: 'system', rows: 'comfortable', zone: 'local' };
const listeners = new Set<() => void>();
let current = read();

function read(): Preferences {
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>) };
  } catch {
    return usual; // a browser that keeps nothing, or what somebody wrote there
  }
}

export function setPreferences(changed: Partial<Preferences>): void {
  current = { ...current, ...changed };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Without storage it holds for this page.
  }
  apply();
  for (const listener of listeners) listener();
}

/** Writes on the page what style sheets look at. */
export function apply(): void {
  document.documentElement.dataset.theme = current.theme;
  document.documentElement.dataset.rows = current.rows;
}

export const usePreferences = (): Preferences =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
