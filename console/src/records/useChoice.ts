import { useMemo, useState } from 'react';

/** Records that were chosen for what is done with several at once. */
export interface Choice {
  ids: readonly string[];
  /** All that fit the filter are chosen, also those that were not loaded. */
  isAll: boolean;
  has(id: string): boolean;
  set(ids: readonly string[]): void;
  setAll(): void;
  clear(): void;
  /** Chooses or leaves one; with `toHere`, chooses all of `order` between the one before and this. */
  toggle(id: string, toHere: boolean, order: readonly string[]): void;
}

interface Kept {
  question: string;
  ids: ReadonlySet<string>;
  isAll: boolean;
  last: string | undefined;
}

/** @param question what the records answer: another one begins with none chosen */
export function useChoice(question: string): Choice {
  const none: Kept = { question, ids: new Set(), isAll: false, last: undefined };
  const [kept, setKept] = useState(none);
  const now = kept.question === question ? kept : none;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `now` changes with these two
  return useMemo(() => {
    const { ids, isAll, last } = now;
    const set = (next: Iterable<string>, at?: string) => setKept({ question, ids: new Set(next), isAll: false, last: at });
    return {
      ids: [...ids],
      isAll,
      has: (id) => isAll || ids.has(id),
      set,
      setAll: () => setKept({ ...now, isAll: true }),
      clear: () => set([]),
      toggle(id, toHere, order) {
        const from = toHere && last !== undefined ? order.indexOf(last) : -1;
        const to = order.indexOf(id);
        if (from >= 0 && to >= 0) set([...ids, ...order.slice(Math.min(from, to), Math.max(from, to) + 1)], id);
        else set(ids.has(id) ? [...ids].filter((one) => one !== id) : [...ids, id], id);
      },
    };
  }, [question, kept]);
}
