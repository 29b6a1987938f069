import { useSyncExternalStore } from 'react';
import type { SavedView } from './savedViews.ts';
import { countOf, filterOf, runSelector, type Selection } from './selection.ts';
import { queryClient, send, sendAtEnd } from './service.ts';

/** Milliseconds in which a deletion can be taken back. Only then is it sent. */
export const UNDO_MS = 8_000;

/** A deletion that was asked for. It waits, goes on, or has failed. */
export interface Deletion {
  /** Names in a sentence the thing that is deleted. */
  text: string;
  request: { path: string; method?: 'DELETE'; body?: object };
  /** The first word of the keys of questions whose answers it changes. */
  changes: 'records' | 'views';
  /** Ids of what was on the page. */
  hidden: readonly string[];
  /** Records that go from a run. */
  records?: { runId: string; count: number };
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

function later(asked: Omit<Deletion, 'state'>): void {
  const one: Deletion = { ...asked, state: 'waiting' };
  one.timer = setTimeout(() => void deleteNow(one), UNDO_MS);
  set([...all, one]);
}

/** Deletes the records when the time to undo it is over. Of a filter, those that are there now: what is logged meanwhile stays. */
export function deleteRecordsLater(given: Selection, hidden: readonly string[]): void {
  const { run, kind, count } = given;
  const filter = 'filter' in given.records ? until(new Date(), given.records.filter) : filterOf(given);
  later({
    text: countOf(given),
    request: {
      path: `/projects/${run.projectId}/${kind}/delete`,
      body: { ...runSelector(run), ...(filter ? { filter_tree: filter } : {}) },
    },
    changes: 'records',
    hidden,
    records: { runId: run.runId, count },
  });
}

export const deleteViewLater = ({ id, project_id, name }: SavedView): void =>
  later({
    text: `View “${name}”`,
    request: { path: `/projects/${project_id}/views/${id}`, method: 'DELETE' },
    changes: 'views',
    hidden: [id],
  });

export function takeBack(one: Deletion): void {
  clearTimeout(one.timer);
  replace(one, []);
}

export async function deleteNow(one: Deletion): Promise<void> {
  clearTimeout(one.timer);
  const { timer: _, error: __, ...asked } = one;
  const sent: Deletion = { ...asked, state: 'sent' };
  replace(one, [sent]);
  try {
    const { path, ...request } = sent.request;
    await send(path, { ...request, repeatable: true });
    await queryClient.invalidateQueries({ queryKey: [sent.changes] });
    replace(sent, []);
  } catch (error) {
    replace(sent, [{ ...sent, state: 'failed', error }]);
  }
}

// A person who leaves cannot undo it any more, and has asked for it: the page sends it as it goes.
addEventListener('pagehide', () => {
  for (const one of all.filter(({ state }) => state === 'waiting')) {
    clearTimeout(one.timer);
    sendAtEnd(one.request);
    replace(one, []);
  }
});

function until(moment: Date, filter: ReturnType<typeof filterOf>): ReturnType<typeof filterOf> {
  const before = { filter: { type: 'date', column_id: 'created_at', operator: 'lte', value: moment.toISOString() } };
  return filter ? { and: [filter, before] } : before;
}
