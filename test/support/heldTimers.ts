import type { BrowserContext, Page } from 'playwright-core';

interface Scope {
  setTimeout(work: (...given: unknown[]) => void, ms?: number, ...given: unknown[]): number;
  clearTimeout(id?: number): void;
  /** Calls the timers that are held, by their milliseconds. */
  letTimersGo?: Record<number, () => void>;
}

/**
 * Holds the timers of so many milliseconds on pages that are loaded from now on: they fire when a test lets them go, and not in the middle of what it does
 * on a slow machine.
 */
export const holdTimers = (on: BrowserContext | Page, ms: number) =>
  on.addInitScript((heldMs) => {
    const scope = globalThis as unknown as Scope;
    const { setTimeout: set, clearTimeout: clear } = scope;
    const held = new Map<number, () => void>();
    scope.setTimeout = (work, after, ...given) => {
      if (after !== heldMs) return set(work, after, ...given);
      const id = set(() => undefined, 2 ** 31 - 1); // an id that no other timer has
      held.set(id, () => work(...given));
      return id;
    };
    scope.clearTimeout = (id) => {
      if (id !== undefined) held.delete(id);
      clear(id);
    };
    scope.letTimersGo = {
      ...scope.letTimersGo,
      [heldMs]: () => {
        const all = [...held];
        for (const [id, work] of all) {
          scope.clearTimeout(id);
          work();
        }
      },
    };
  }, ms);

/** Lets the held timers of so many milliseconds fire that wait now. */
export const letTimersGo = (page: Page, ms: number): Promise<void> =>
  page.evaluate((heldMs) => (globalThis as unknown as Scope).letTimersGo?.[heldMs]?.(), ms);
