import { LRUCache } from 'lru-cache';
import type { RunRef } from '../projects/runs.ts';
import { lockOf } from './writeLocks.ts';

/** Some 15 MB of ids. */
const MAX_SESSIONS = 100_000;

interface Session {
  id: string;
  /** Only records have opened it, by naming it. */
  is_provisional?: boolean | undefined;
}

/** Sessions that are surely stored, so that what opens one need not look. Only where no other process writes or deletes records. */
export class OpenedSessions {
  readonly #sessions = new LRUCache<string, 'provisional' | 'opened'>({ max: MAX_SESSIONS });

  /** True when opening the session changes nothing. */
  has(run: RunRef, { id, is_provisional }: Session): boolean {
    const known = this.#sessions.get(keyOf(run, id));
    return known === 'opened' || (known === 'provisional' && is_provisional === true);
  }

  add(run: RunRef, { id, is_provisional }: Session): void {
    this.#sessions.set(keyOf(run, id), is_provisional ? 'provisional' : 'opened');
  }

  /** Before and after something is deleted from the run. */
  forget(run: RunRef): void {
    const ofRun = keyOf(run, '');
    for (const key of [...this.#sessions.keys()]) if (key.startsWith(ofRun)) this.#sessions.delete(key);
  }
}

const keyOf = (run: RunRef, id: string): string => `${lockOf(run)}/${id}`;
