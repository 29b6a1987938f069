import type { RunRef } from '../projects/runs.ts';
import type { Erasure } from './eraseRecords.ts';
import type { RecordChange } from './recordChange.ts';
import { lockOf } from './writeLocks.ts';

interface UnderWay {
  erasure: Erasure;
  ids: ReadonlySet<string>;
  /** Resolves when the erasure is carried out, or has failed. */
  ended: Promise<void>;
}

/**
 * Erasures that this process has begun and that the store has not carried out. Until then their records are found, so what concerns them waits: a record
 * logged anew would stand beside the old one. All else is written meanwhile. docs/decisions/deletion-and-merges.md has the figures.
 */
export class ErasuresUnderWay {
  readonly #byRun = new Map<string, Set<UnderWay>>();

  /** @param carriedOut may reject: the next write or sweep finishes the erasure by its note */
  add(erasure: Erasure, carriedOut: Promise<void>): void {
    const name = lockOf(erasure.run);
    const ofRun = this.#byRun.get(name) ?? new Set();
    this.#byRun.set(name, ofRun);
    const end = () => {
      ofRun.delete(one);
      if (ofRun.size === 0) this.#byRun.delete(name);
    };
    const one: UnderWay = { erasure, ids: new Set(erasure.keys.map(({ id }) => id)), ended: carriedOut.then(end, end) };
    ofRun.add(one);
  }

  has(run: RunRef, erasureId: string): boolean {
    return this.#of(run).some(({ erasure }) => erasure.id === erasureId);
  }

  /** Returns a test for records that an erasure takes which is under way now. */
  takenNow(run: RunRef): (id: string) => boolean {
    const now = this.#of(run);
    return (id) => now.some(({ ids }) => ids.has(id));
  }

  /** When those of the run have ended; undefined where there are none. */
  endOfAll(run: RunRef): Promise<unknown> | undefined {
    const all = this.#of(run);
    return all.length === 0 ? undefined : Promise.all(all.map(({ ended }) => ended));
  }

  /** When those of the run have ended that take a record which these changes name; undefined where there are none. */
  endOfThoseOf(run: RunRef, changes: readonly RecordChange[]): Promise<unknown> | undefined {
    const all = this.#of(run).filter(({ ids }) => changes.some((change) => namesOneOf(change, ids)));
    return all.length === 0 ? undefined : Promise.all(all.map(({ ended }) => ended));
  }

  #of(run: RunRef): UnderWay[] {
    return this.#byRun.size === 0 ? [] : [...(this.#byRun.get(lockOf(run)) ?? [])];
  }
}

function namesOneOf(change: RecordChange, ids: ReadonlySet<string>): boolean {
  if (change.action === 'update') return ids.has(change.id);
  const { id, trace_id, session_id, parent_id } = change.record;
  return [id, trace_id, session_id, parent_id].some((one) => one != null && ids.has(one));
}
