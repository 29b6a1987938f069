import { useMemo, useState } from 'react';

/** Records that were chosen for what is done with several at once. */
export interface Choice {
  ids: readonly string[];
  has(id: string): boolean;
  set(ids: readonly string[]): void;
  clear(): void;
  /** Chooses or leaves one; with `toHere`, chooses all of `all` between the one before and this. */
  toggle(id: string, toHere: boolean, all: readonly string[]): void;
}

const none: ReadonlySet<string> = new Set();

/** @param question what the records answer: another one begins with none chosen */
export function useChoice(question: string): Choice {
  const [kept, setKept] = useState({ question, ids: none, last: undefined as string | undefined });
  const { ids, last } = kept.question === question ? kept : { ids: none, last: undefined };
  return useMemo(() => {
    const set = (next: Iterable<string>, at?: string) => setKept({ question, ids: new Set(next), last: at });
    return {
      ids: [...ids],
      has: (id) => ids.has(id),
      set,
      clear: () => set(none),
      toggle(id, toHere, all) {
        const from = toHere && last !== undefined ? all.indexOf(last) : -1;
        const to = all.indexOf(id);
        if (from >= 0 && to >= 0) set([...ids, ...all.slice(Math.min(from, to), Math.max(from, to) + 1)], id);
        else set(ids.has(id) ? [...ids].filter((one) => one !== id) : [...ids, id], id);
      },
    };
  }, [question, ids, last]);
}
