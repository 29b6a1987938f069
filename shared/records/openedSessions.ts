import { LRUCache } from 'lru-cache';
import type { RunRef } from '../projects/runs.ts';
import { lockOf } from './writeLocks.ts';

const MAX_RUNS = 1_000;
const SESSIONS_OF_RUN = 10_000;

/** Sessions that are surely stored, so that what opens one need not look. Only where no other process writes or deletes records. */
export class OpenedSessions {
  readonly #runs = new LRUCache<string, Set<string>>({ max: MAX_RUNS });

  has(run: RunRef, id: string): boolean {
    return this.#runs.get(lockOf(run))?.has(id) ?? false;
  }

  add(run: RunRef, id: string): void {
    const sessions = this.#runs.get(lockOf(run));
    if (!sessions || sessions.size === SESSIONS_OF_RUN) this.#runs.set(lockOf(run), new Set([id]));
    else sessions.add(id);
  }

  /** Before and after something is deleted from the run. */
  forget(run: RunRef): void {
    this.#runs.delete(lockOf(run));
  }
}
