import { text, withoutEmpty } from './parameters.ts';

/** The tabs of a queue; without one, the record to rate. */
export type QueueTab = 'rate' | 'results' | 'questions' | 'people';
export const queueTabs: readonly (readonly [QueueTab, string])[] = [
  ['rate', 'Rate'],
  ['results', 'Results'],
  ['questions', 'Questions'],
  ['people', 'People'],
];

/** The parameters of a queue's page. */
export interface QueueAddress {
  tab?: QueueTab | undefined;
  /** Id of the record that is rated. */
  record?: string | undefined;
  /** All records; those that the person has not rated without it. */
  show?: 'all' | undefined;
}

/** Reads the parameters of an address, whatever somebody wrote there. */
export const queueAddress = (given: Record<string, unknown>): QueueAddress =>
  withoutEmpty({
    tab: queueTabs.find(([one]) => one === given.tab && one !== 'rate')?.[0],
    record: text(given.record),
    show: given.show === 'all' ? 'all' : undefined,
  });
