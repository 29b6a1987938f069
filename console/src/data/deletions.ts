import { useMemo, useSyncExternalStore } from 'react';
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
  changes:
    | 'records'
    | 'views'
    | 'experiments'
    | 'datasets'
    | 'prompts'
    | 'metrics'
    | 'queues'
    | 'queue'
    | 'integrations'
    | 'users';
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

/** Deletes experiments with their records, each with an undo of its own. */
export function deleteExperimentsLater(experiments: readonly { id: string; project_id: string; name: string }[]): void {
  for (const { id, project_id, name } of experiments)
    later({
      text: `Experiment “${name}”`,
      request: { path: `/projects/${project_id}/experiments/${id}`, method: 'DELETE' },
      changes: 'experiments',
      hidden: [id],
    });
}

export const deleteDatasetLater = ({ id, name }: { id: string; name: string }): void =>
  later({
    text: `Dataset “${name}”`,
    request: { path: `/datasets/${id}`, method: 'DELETE' },
    changes: 'datasets',
    hidden: [id],
  });

export const deletePromptLater = ({ id, name }: { id: string; name: string }): void =>
  later({
    text: `Prompt “${name}”`,
    request: { path: `/templates/${id}`, method: 'DELETE' },
    changes: 'prompts',
    hidden: [id],
  });

export const deleteIntegrationLater = ({ id, provider, name }: { id: string; provider: string; name: string }): void =>
  later({
    text: `Integration “${name}”`,
    request: {
      path: provider === 'custom' ? `/integrations/custom/${encodeURIComponent(name)}` : `/integrations/${provider}`,
      method: 'DELETE',
    },
    changes: 'integrations',
    hidden: [id],
  });

/** With their keys, sessions and tokens. */
export const deleteUserLater = ({ id, email }: { id: string; email: string }): void =>
  later({ text: `User “${email}”`, request: { path: `/users/${id}`, method: 'DELETE' }, changes: 'users', hidden: [id] });

export const deleteMetricLater = ({ id, name }: { id: string; name: string }): void =>
  later({
    text: `Metric “${name}”`,
    request: { path: `/scorers/${id}`, method: 'DELETE' },
    changes: 'metrics',
    hidden: [id],
  });

/** Ids of what is being deleted, and is not to be seen. */
export function useGoing(): ReadonlySet<string> {
  const deletions = useDeletions();
  return useMemo(() => new Set(deletions.flatMap(({ state, hidden }) => (state === 'failed' ? [] : hidden))), [deletions]);
}

export const deleteQueueLater = ({ id, name }: { id: string; name: string }): void =>
  later({
    text: `Queue “${name}”`,
    request: { path: `/annotation_queues/${id}`, method: 'DELETE' },
    changes: 'queues',
    hidden: [id],
  });

/** With all answers to it. */
export const deleteQuestionLater = (queueId: string, { id, name }: { id: string; name: string }): void =>
  later({
    text: `Question “${name}”`,
    request: { path: `/annotation_queues/${queueId}/templates/${id}`, method: 'DELETE' },
    changes: 'queue',
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
