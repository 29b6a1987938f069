import type { RunRef } from '../projects/runs.ts';
import type { RecordEraser } from './delete.ts';
import type { RecordErasure } from './eraseRecords.ts';
import type { RecordWriter } from './recordWriter.ts';
import type { RecordReads } from './searchRecords.ts';
import { lockOf } from './writeLocks.ts';

interface Deps {
  reads: Pick<RecordReads, 'records'>;
  eraser: Pick<RecordEraser, 'members'>;
  erasure: Pick<RecordErasure, 'erase'>;
  writer: Pick<RecordWriter, 'exclusively'>;
  /** Milliseconds between two removals in one run. */
  pauseMs: number;
  onError(err: unknown): void;
}

/**
 * Removes sessions that records opened by naming them, and left for another one, so that none stays empty. One that a caller opened stays. The first of a
 * run go at once; those that are left
 * soon after go together, since a removal waits for the writes of the run.
 */
export class EmptySessions {
  readonly #deps: Deps;
  /** Ids by the run whose removal is under way or was a moment ago. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Sessions that traces have left; those that are empty now go, soon. Failures are reported, not thrown: the spans are stored. */
  async left(run: RunRef, ids: readonly string[]): Promise<void> {
    const name = lockOf(run);
    const waiting = this.#waiting.get(name);
    if (waiting) {
      for (const id of ids) waiting.add(id);
      return;
    }
    const next = new Set<string>();
    this.#waiting.set(name, next);
    await this.#remove(run, ids);
    setTimeout(() => {
      this.#waiting.delete(name);
      if (next.size > 0) void this.left(run, [...next]);
    }, this.#deps.pauseMs).unref();
  }

  async #remove(run: RunRef, ids: readonly string[]): Promise<void> {
    const { reads, eraser, erasure, writer } = this.#deps;
    try {
      const { gone } = await writer.exclusively(run, async (confirm) => {
        const members = await eraser.members(run, 'session_id', ids);
        const filled = new Set(members.filter(({ type }) => type !== 'session').map((member) => member.session_id));
        const keys = members.filter(({ id, type }) => type === 'session' && !filled.has(id));
        const found = await reads.records(
          run,
          keys.map(({ id, created_at }) => ({ id, createdAt: created_at, type: 'session', traceId: null })),
        );
        return erasure.erase(
          run,
          found.filter(({ is_provisional }) => is_provisional),
          confirm,
        );
      });
      await gone;
    } catch (err) {
      this.#deps.onError(err);
    }
  }
}
