import { LRUCache } from 'lru-cache';
import type { RunRef } from '../projects/runs.ts';
import { lockOf } from './writeLocks.ts';

/** Some 15 MB of ids. */
const MAX_SESSIONS = 100_000;

/** Sessions that are surely stored, so that what opens one need not look. Only where no other process writes or deletes records. */
export class OpenedSessions {
  readonly #sessions = new LRUCache<string, true>({ max: MAX_SESSIONS });

  has(run: RunRef, id: string): boolean {
    return this.#sessions.get(keyOf(run, id)) === true;
  }

  add(run: RunRef, id: string): void {
    this.#sessions.set(keyOf(run, id), true);
  }

  /** Before and after something is deleted from the run. */
  forget(run: RunRef): void {
    const ofRun = keyOf(run, '');
    for (const key of [...this.#sessions.keys()]) if (key.startsWith(ofRun)) this.#sessions.delete(key);
  }
}

const keyOf = (run: RunRef, id: string): string => `${lockOf(run)}/${id}`;
