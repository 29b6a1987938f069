import { useSyncExternalStore } from 'react';
import type { Zone } from './format.ts';

/** How one person likes the console, in this browser. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  rows: 'comfortable' | 'dense';
  zone: Zone;
  /** Keys that are characters do something: people who speak to their computer switch them off. */
  keys: 'on' | 'off';
  /** Pixels of columns that somebody made wider or narrower, by the column's id. */
  widths: Readonly<Record<string, number>>;
}

const KEY = 'assay preferences';
const usual: Preferences = { theme: 'system', rows: 'comfortable', zone: 'local', keys: 'on', widths: {} };
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

/** Keeps the width of a column, in pixels. */
export const setWidth = (id: string, pixels: number): void => setPreferences({ widths: { ...current.widths, [id]: pixels } });

/** Writes on the page what style sheets look at. */
export function apply(): void {
  document.documentElement.dataset.theme = current.theme;
  document.documentElement.dataset.rows = current.rows;
}

export const currentPreferences = (): Preferences => current;

export const usePreferences = (): Preferences =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
