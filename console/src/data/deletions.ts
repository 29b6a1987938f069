import { useSyncExternalStore } from 'react';
import { countOf, filterOf, runSelector, type Selection } from './selection.ts';
import { queryClient, send, sendAtEnd } from './service.ts';

/** Milliseconds in which a deletion can be taken back. Only then is it sent. */
export const UNDO_MS = 8_000;

/** A deletion that was asked for. It waits, goes on, or has failed. */
export interface Deletion {
  selection: Selection;
  text: string;
  /** Ids of the records that were on the page. */
  hidden: readonly string[];
  state: 'waiting' | 'sent' | 'failed';
  error?: unknown;
  timer?: ReturnType<typeof setTimeout>;
}

let all: readonly Deletion[] = [];
const listeners = new Set<() => void>();
const set = (next: readonly Deletion[]) => {
  all = next;
  for (const listener of listeners) listener();
};
const replace = (one: Deletion, by: Deletion[]) => set(all.flatMap((each) => (each === one ? by : [each])));

/** The deletions whose records are not to be seen, and those that failed. */
export const useDeletions = (): readonly Deletion[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );

/** Deletes the records when the time to undo it is over. Of a filter, those that are there now: what is logged meanwhile stays. */
export function deleteLater(given: Selection, hidden: readonly string[]): void {
  const selection =
    'filter' in given.records ? { ...given, records: { filter: until(new Date(), given.records.filter) } } : given;
  const one: Deletion = { selection, text: countOf(given), hidden, state: 'waiting' };
  one.timer = setTimeout(() => void deleteNow(one), UNDO_MS);
  set([...all, one]);
}

export function takeBack(one: Deletion): void {
  clearTimeout(one.timer);
  replace(one, []);
}

export async function deleteNow(one: Deletion): Promise<void> {
  clearTimeout(one.timer);
  const sent: Deletion = { selection: one.selection, text: one.text, hidden: one.hidden, state: 'sent' };
  replace(one, [sent]);
  try {
    await send(pathOf(one), { body: bodyOf(one), repeatable: true });
    await queryClient.invalidateQueries({ queryKey: ['records'] });
    replace(sent, []);
  } catch (error) {
    replace(sent, [{ ...sent, state: 'failed', error }]);
  }
}

// A person who leaves cannot undo it any more, and has asked for it: the page sends it as it goes.
addEventListener('pagehide', () => {
  for (const one of all.filter(({ state }) => state === 'waiting')) {
    clearTimeout(one.timer);
    sendAtEnd(pathOf(one), bodyOf(one));
    replace(one, []);
  }
});

const pathOf = ({ selection: { run, kind } }: Deletion): string => `/projects/${run.projectId}/${kind}/delete`;

function bodyOf({ selection }: Deletion): object {
  const filter = filterOf(selection);
  return { ...runSelector(selection.run), ...(filter ? { filter_tree: filter } : {}) };
}

function until(moment: Date, filter: ReturnType<typeof filterOf>): ReturnType<typeof filterOf> {
  const before = { filter: { type: 'date', column_id: 'created_at', operator: 'lte', value: moment.toISOString() } };
  return filter ? { and: [filter, before] } : before;
}
