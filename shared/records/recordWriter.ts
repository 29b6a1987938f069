import { onBehalfOf } from '../concurrency/currentCaller.ts';
import type { RunRef } from '../projects/runs.ts';
import { ErasuresUnderWay } from './erasuresUnderWay.ts';
import { GroupWriter, type GroupWriterDeps } from './groupWriter.ts';
import type { HeldUpdates } from './heldUpdates.ts';
import { IngestCounters } from './ingestCounters.ts';
import { LockedGroups } from './lockedGroups.ts';
import { NotedUpdates, type NotedUpdatesDeps, type UnsettledUpdates } from './notedUpdates.ts';
import type { RecordChange, WrittenRecord } from './recordChange.ts';
import type { HeldLocks, Lock, RecordStore, WithLocks, WriteGuard } from './recordStore.ts';
import { VersionClock } from './versionClock.ts';
import { type CallPrices, noPrices } from './withCost.ts';
import { LocksTaken, lockOf, lockOfProject, noLocks, ownLock, sharedLock } from './writeLocks.ts';
import { WriteQueue } from './writeQueue.ts';
import { type Outcome, type PartsOf, roughBytes, type WriteRequest } from './writeRequest.ts';

export interface RecordWriterOptions {
  store: RecordStore;
  /** Holds off the other processes that write to the same runs; absent where this process is the only one. */
  withLocks?: WithLocks;
  /** Absent where every run is there and nothing is held. */
  guard?: WriteGuard;
  /** Absent where there are no experiments. */
  noteOutdated?: GroupWriterDeps['noteOutdated'];
  /** Absent where no run is deleted. */
  noteLate?: GroupWriterDeps['noteLate'];
  /** Absent where no records are deleted. */
  erasures?: ErasuresUnderWay;
  /** Absent: an update of a record that is not stored is `NotFound`. */
  held?: HeldUpdates;
  /** Absent: model calls have the costs that were logged with them, and no others. */
  prices?: CallPrices;
  /** Where updates are noted; absent: they are answered when they are in their records. Reads must wait for `unsettled`. */
  notes?: Pick<NotedUpdatesDeps, 'journal' | 'onLost'>;
  /** Bytes of records that are written together. */
  groupBytes?: number;
  /** Bytes that may wait to be written, shared between projects; more is refused with 429 or 503. */
  queueBytes?: number;
  now?: () => Date;
  /** Hears of every group that is written: how many changes and bytes it has. */
  onGroup?: (changes: number, bytes: number) => void;
}

// Every part costs the engine 10 ms of CPU, and merging it several times as much: 3,000 records of 2.5 KB share that. More would hold up the
// event loop (40 ms for this many), and an insert of this size is still one block: stored whole or not at all.
const GROUP_BYTES = 8_000_000;
export const QUEUE_BYTES = 128 * 1024 * 1024;
const LOCK_WAIT_MS = 500;
/** Half a minute: no lock is held that long by a process that does not go on. */
const LOCK_TURNS = 60;

/**
 * Writes records in groups: requests that arrive together share one look-up and one insert per table. A write that has returned can be read
 * and survives the death of the process. One group is written at a time, so every change is settled on top of the one before it.
 */
export class RecordWriter {
  readonly counters = new IngestCounters();
  readonly #withLocks: WithLocks | undefined;
  readonly #guard: WriteGuard;
  readonly #erasures: ErasuresUnderWay;
  readonly #noted: NotedUpdates | undefined;
  readonly #queue: WriteQueue<WriteRequest>;
  readonly #locked: LockedGroups;
  /** When requests that are not answered have come, in milliseconds of this process, the oldest first. */
  readonly #unanswered = new Set<{ since: number }>();
  /** Resolves when the last work that waits for locks alone has had its turn. */
  #lockTurn: Promise<unknown> = Promise.resolve();
  #notify: (run: RunRef) => void = () => {};
  #notifyOutdated: (run: RunRef) => void = () => {};

  constructor({
    store,
    withLocks,
    guard,
    noteOutdated,
    noteLate,
    erasures,
    held,
    prices,
    notes,
    groupBytes,
    queueBytes,
    now,
    onGroup,
  }: RecordWriterOptions) {
    this.#withLocks = withLocks;
    this.#guard = guard ?? (async () => ({ missing: [], withHeldUpdates: [] }));
    this.#erasures = erasures ?? new ErasuresUnderWay();
    const clock = new VersionClock(now ?? (() => new Date()));
    this.#noted = notes && this.#noting(notes, clock, store);
    const groups = new GroupWriter({
      store: {
        ...store,
        spanKeys: async (run, traceIds) => {
          const isTaken = this.#erasures.takenNow(run);
          return (await store.spanKeys(run, traceIds)).filter(({ id }) => !isTaken(id));
        },
        usageKeys: async (run, traceIds, ids, whole) => {
          const isTaken = this.#erasures.takenNow(run);
          return (await store.usageKeys(run, traceIds, ids, whole)).filter(({ id }) => !isTaken(id));
        },
      },
      withLocks: withLocks ?? ((_locks, _runs, work) => work(noLocks)),
      guard: this.#guard,
      noteOutdated: noteOutdated ?? (async () => []),
      noteLate: noteLate ?? (async () => {}),
      mayWrite: (request) => !this.#waitsForErasure(request),
      putBack: (request) => this.#queue.putBack(request),
      held,
      prices: prices ?? noPrices,
      noted: this.#noted,
      counters: this.counters,
      clock,
      onStored: (run) => this.#notify(run),
      onOutdated: (run) => this.#notifyOutdated(run),
    });
    const bytesOfGroup = groupBytes ?? GROUP_BYTES;
    this.#locked = new LockedGroups({ write: groups.write.bind(groups), groupBytes: bytesOfGroup });
    this.#queue = new WriteQueue({
      write: async (all) => {
        const group = all.filter((request) => !this.#waitsForErasure(request));
        if (group.length === 0) return;
        const sum = (sizeOf: (request: WriteRequest) => number) => group.reduce((all, request) => all + sizeOf(request), 0);
        onGroup?.(
          sum(({ changes }) => changes.length),
          sum(({ bytes }) => bytes),
        );
        await (withLocks ? this.#locked.write(group) : groups.write(group, 0));
      },
      groupBytes: bytesOfGroup,
      queueBytes: queueBytes ?? QUEUE_BYTES,
    });
  }

  /**
   * All changes of one request, or none of them.
   * @throws ServiceError `TooManyRequests` when too much waits already, `Unavailable` when the store does not take it or too many updates are held,
   * `NotFound` for an update of a record that was deleted or is of another kind; RequestInvalid when a record cannot be what a change makes of it.
   * @param ordinals the rows of an experiment that all of the changes are of: other processes may write other rows of it meanwhile
   */
  async write(run: RunRef, changes: readonly RecordChange[], ordinals?: readonly number[]): Promise<WrittenRecord[]> {
    return (await this.counters.count(run.projectId, changes.length, this.#noteOrEnqueue(run, changes, { ordinals }), notStored))
      .written;
  }

  /**
   * As `write`, but for parts whose records cannot be what the changes make of them: these are left out, and what hangs below a span that is left out
   * goes to what that span hangs below.
   */
  async writeParts(run: RunRef, changes: readonly RecordChange[], partsOf: PartsOf): Promise<Outcome> {
    return this.counters.count(run.projectId, changes.length, this.#noteOrEnqueue(run, changes, { partsOf }), notStored);
  }

  /** Decides anew which usage counts in these traces, of which records were deleted. */
  async recount(run: RunRef, traceIds: readonly string[]): Promise<void> {
    await this.#enqueue(run, [], { recount: traceIds });
  }

  /** Bytes that wait to be written, or are being written. */
  get waitingBytes(): number {
    return this.#queue.waitingBytes;
  }

  /** Milliseconds for which the oldest request has waited to be stored, and the oldest of those that another process has locked out. */
  get waitingMs(): { stored: number; locked: number } {
    const [oldest] = this.#unanswered;
    return { stored: oldest ? performance.now() - oldest.since : 0, locked: this.#locked.waitingMs };
  }

  /** Updates that were answered and are not in their records yet: who reads waits for them. */
  get unsettled(): UnsettledUpdates {
    return this.#noted ?? nothingUnsettled;
  }

  /** An update that is noted is answered so. All else waits for what was noted of the same records, and then for its group. */
  async #noteOrEnqueue(run: RunRef, changes: readonly RecordChange[], more: Asked): Promise<Outcome> {
    const [first] = changes;
    const noted = changes.length === 1 && first?.action === 'update' ? await this.#noted?.add(run, first) : undefined;
    if (noted) return { written: [noted], refused: [], held: [], left: [] };
    const before = this.#noted?.settledBefore(run, changes);
    if (before) await before;
    return this.#enqueue(run, changes, more);
  }

  #noting(notes: Pick<NotedUpdatesDeps, 'journal' | 'onLost'>, clock: VersionClock, store: RecordStore): NotedUpdates {
    const erasures = this.#erasures;
    return new NotedUpdates({
      ...notes,
      clock,
      write: (run, change) => this.#enqueue(run, [change], {}),
      async find(run, ids) {
        const isTaken = erasures.takenNow(run);
        return onBehalfOf(undefined, () =>
          store.places(
            run,
            ids.filter((id) => !isTaken(id)),
          ),
        );
      },
      isTaken: (run, id) => erasures.takenNow(run)(id),
    });
  }

  async #enqueue(run: RunRef, changes: readonly RecordChange[], { recount = [], ...more }: Asked): Promise<Outcome> {
    const bytes = changes.reduce((sum, change) => sum + roughBytes(change), 0);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#queue.add(
      { partsOf: undefined, ordinals: undefined, ...more, run, changes, recount, bytes, resolve, reject },
      [run.projectId],
      promise,
    );
    const one = { since: performance.now() };
    this.#unanswered.add(one);
    return promise.finally(() => this.#unanswered.delete(one));
  }

  /** From now on `notify` hears of every run to which something was written. */
  whenStored(notify: (run: RunRef) => void): void {
    this.#notify = notify;
  }

  /** From now on `notify` hears of every experiment to which clients have written. */
  whenOutdated(notify: (experiment: RunRef) => void): void {
    this.#notifyOutdated = notify;
  }

  /**
   * Runs `work` while nothing is written to `run`, here or in another process, and no erasure is under way in it: what it finds is there. Deletions run
   * between writes.
   * @param work is given what it asks before it takes anything away: it rejects when this process has lost its locks, and others may have written since
   */
  async exclusively<T>(run: RunRef, work: (confirm: HeldLocks['confirm']) => Promise<T>): Promise<T> {
    return this.#noted ? this.#noted.alone(run, () => this.#betweenWrites(run, work)) : this.#betweenWrites(run, work);
  }

  async #betweenWrites<T>(run: RunRef, work: (confirm: HeldLocks['confirm']) => Promise<T>): Promise<T> {
    for (;;) {
      await this.#erasures.endOfAll(run);
      const done = await this.#alone([sharedLock(lockOfProject(run)), ownLock(lockOf(run))], async (confirm) => {
        // Another one came first. It is waited for without the lock, so that others may write meanwhile.
        if (this.#erasures.endOfAll(run)) return undefined;
        await this.#guard([run], undefined, confirm);
        return { result: await work(confirm) };
      });
      if (done) return done.result;
    }
  }

  /** True when the request names a record whose erasure is under way. The request returns to the queue when the erasure has ended. */
  #waitsForErasure(request: WriteRequest): boolean {
    const end = this.#erasures.endOfThoseOf(request.run, request.changes);
    void end?.then(() => this.#queue.putBack(request));
    return end !== undefined;
  }

  /** Resolves when no write is sent, here or in another process, that was let in before: to the run or, without one, to any of the project. */
  untilWritten(projectId: string, runId?: string): Promise<void> {
    const lock = runId === undefined ? lockOfProject({ projectId }) : lockOf({ projectId, runId });
    return this.#alone([ownLock(lock)], async () => this.#noted?.forget(projectId, runId));
  }

  /**
   * Runs work that nothing is written beside. The only process that writes stops its queue; where there are several the locks are enough. Of this process
   * one waits for locks at a time and for half a second, so that another which can have its own comes next.
   */
  async #alone<T>(locks: readonly Lock[], work: (confirm: HeldLocks['confirm']) => Promise<T>): Promise<T> {
    const withLocks = this.#withLocks;
    if (!withLocks) return this.#queue.inTurn(() => work(noLocks.confirm));
    for (let turn = 1; ; turn++) {
      const done = this.#lockTurn.then(() => withLocks(locks, [], ({ confirm }) => work(confirm), LOCK_WAIT_MS));
      this.#lockTurn = done.catch(() => {});
      try {
        return await done;
      } catch (err) {
        if (!(err instanceof LocksTaken) || turn >= LOCK_TURNS) throw err;
      }
    }
  }
}

type Asked = Partial<Pick<WriteRequest, 'partsOf' | 'ordinals' | 'recount'>>;

const nothingUnsettled: UnsettledUpdates = { isEmpty: true, settle: async () => {} };

const notStored = ({ refused, held }: Outcome) => ({
  held: held.length,
  rejected: refused.reduce((sum, part) => sum + part.changes.length, 0),
});
