import { ServiceError } from '../errors/errors.ts';
import { type RunRef, runNotFound } from '../projects/runs.ts';
import type { HeldUpdate, HeldUpdates } from './heldUpdates.ts';
import type { IngestCounters } from './ingestCounters.ts';
import type { NotedUpdates } from './notedUpdates.ts';
import { asUnavailable, isTransient, persistBlock } from './persistBlock.ts';
import type { RecordChange } from './recordChange.ts';
import type { HeldLocks, RecordStore, WithLocks, WriteGuard } from './recordStore.ts';
import { type SettledGroup, settleGroup } from './settleGroup.ts';
import type { VersionClock } from './versionClock.ts';
import type { CallPrices } from './withCost.ts';
import { isFree, LocksLost, LocksTaken, lockOf, locksOf } from './writeLocks.ts';
import type { WriteRequest } from './writeRequest.ts';

export interface GroupWriterDeps {
  store: RecordStore;
  withLocks: WithLocks;
  guard: WriteGuard;
  /** Notes that the aggregates of the experiments among these runs are outdated. @returns those experiments */
  noteOutdated(logged: readonly RunRef[]): Promise<readonly RunRef[]>;
  /** As of `ErasureNotes`. */
  noteLate(runs: readonly RunRef[]): Promise<void>;
  /** False for a request that is to wait and comes back by itself: its records are being erased. */
  mayWrite(request: WriteRequest): boolean;
  /** Takes a request that is to be written anew. */
  putBack(request: WriteRequest): void;
  held: HeldUpdates | undefined;
  counters: Pick<IngestCounters, 'drop'>;
  clock: VersionClock;
  prices: CallPrices;
  /** Absent where updates are answered when they are in their records. */
  noted: Pick<NotedUpdates, 'follows' | 'stored'> | undefined;
  /** Hears of every run to which something was written. */
  onStored(run: RunRef): void;
  /** Hears of every experiment to which clients have written. */
  onOutdated(experiment: RunRef): void;
}

/** The permit that the guard gives to a group. */
interface LetIn {
  states: HeldLocks['states'];
  confirm: HeldLocks['confirm'];
  /** The experiments to which clients write with this group. */
  outdated: Promise<readonly RunRef[]>;
  /** Hears of requests that are stored, or may be. */
  onSent(requests: readonly WriteRequest[]): void;
  /** Gets what answers the requests that are stored, for the moment when the locks were held to the end. */
  onStored(answers: readonly (() => void)[]): void;
  /** False where no update of the run's records is held. */
  mayHold(run: RunRef): boolean;
}

/** Writes the groups that the queue gives out, while their runs are locked. */
export class GroupWriter {
  readonly #deps: GroupWriterDeps;
  /** Rises with every hold that this process has made. */
  #holds = 0;

  constructor(deps: GroupWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Answers what it writes when the locks were held to the end.
   * @param waitMs milliseconds for which the locks are waited for; 0: what others have locked is left out
   * @returns the requests that are left out since another process has their locks
   */
  async write(all: WriteRequest[], waitMs: number): Promise<WriteRequest[]> {
    const answers: (() => void)[] = [];
    const sent = new Set<WriteRequest>();
    // Both are asked for beside the locks, not after them. Who waits for them hears of a failure.
    const outdated = this.#deps.noteOutdated(loggedRuns(all));
    outdated.catch(() => {});
    this.#deps.prices.fresh().catch(() => {});
    try {
      const left = await this.#deps.withLocks(
        locksOf(all),
        runsOf(all),
        async ({ refused, states, confirm }) => {
          const group = all.filter((request) => isFree(request, refused) && this.#deps.mayWrite(request));
          const onSent = (requests: readonly WriteRequest[]) => {
            for (const request of requests) sent.add(request);
          };
          const onStored = (stored: readonly (() => void)[]) => void answers.push(...stored);
          if (group.length > 0) await this.#writeIfThere(group, { states, confirm, outdated, onSent, onStored });
          return all.filter((request) => !isFree(request, refused));
        },
        waitMs,
      );
      for (const answer of answers) answer();
      return left;
    } catch (err) {
      if (err instanceof LocksTaken) return all;
      for (const request of all)
        if (err instanceof LocksLost && sent.has(request) && !request.mayBeStored) this.#deps.putBack(toBeSettled(request));
        else request.reject(asUnavailable(err));
      return [];
    }
  }

  async #writeIfThere(group: WriteRequest[], letIn: Omit<LetIn, 'mayHold'>): Promise<void> {
    const holds = this.#holds;
    const states = await this.#deps.guard(runsOf(group), letIn.states, letIn.confirm);
    const missing = new Set(states.missing.map(keyOf));
    const holding = new Set(states.withHeldUpdates.map(lockOf));
    const outdated = await letIn.outdated;
    // Another group may have held updates after the guard was asked.
    const mayHold = (run: RunRef) => holding.has(lockOf(run)) || this.#holds !== holds;
    const gone = group.filter(({ run }) => missing.has(keyOf(run)));
    const kept = group.filter(({ run }) => !missing.has(keyOf(run)));
    const late = gone.filter(({ mayBeStored }) => mayBeStored);
    if (late.length > 0) await this.#deps.noteLate(runsOf(late));
    for (const request of gone) request.reject(runNotFound(request.run));
    if (kept.length > 0) await this.#writeOrSplit(kept, { ...letIn, mayHold });
    for (const run of outdated) this.#deps.onOutdated(run);
  }

  /** A group that cannot be stored is tried request by request, so that only the guilty one fails. */
  async #writeOrSplit(group: WriteRequest[], letIn: LetIn): Promise<void> {
    try {
      await this.#storeGroup(group, letIn);
    } catch (err) {
      if (err instanceof LocksLost) throw err;
      const [only] = group;
      if (group.length > 1 && !isTransient(err)) for (const request of group) await this.#writeOrSplit([request], letIn);
      else if (isTransient(err)) for (const request of group) request.reject(asUnavailable(err));
      else only?.reject(err);
    }
  }

  /** Gives out the answers of its requests when it is stored, of those that it refuses too: of a group that is tried again none was answered. */
  async #storeGroup(group: WriteRequest[], { mayHold, confirm, onSent, onStored }: LetIn): Promise<void> {
    const settled = await this.#settle(group, mayHold);
    await persistBlock(settled.block, confirm, () => onSent(group));
    for (const place of settled.places) this.#deps.noted?.stored(place);
    // Held updates that are not released here expire. They count for nothing, since the records are stored.
    if (settled.applied.length > 0) await this.#deps.held?.release(settled.applied).catch(() => {});
    const notHeld = await this.#hold(settled.toHold);
    onStored(settled.answers.map((answer) => () => answer(notHeld)));
  }

  /** @returns those that are not held, and why. */
  async #hold(toHold: SettledGroup['toHold']): Promise<Map<HeldUpdate, unknown>> {
    const notHeld = new Map<HeldUpdate, unknown>();
    for (const { run, updates } of toHold) {
      let refused: readonly HeldUpdate[] = updates;
      let reason: unknown = new ServiceError(
        'Unavailable',
        'too many updates wait for their records; send this one again later',
        {
          retryAfterSeconds: 5,
        },
      );
      try {
        if (this.#deps.held) {
          const holding = await this.#deps.held.hold(run, updates);
          refused = holding.refused;
          this.#deps.counters.drop(run.projectId, holding.dropped);
        }
        this.#holds++;
      } catch (err) {
        reason = err;
      }
      for (const update of refused) notHeld.set(update, reason);
    }
    return notHeld;
  }

  async #settle(group: readonly WriteRequest[], mayHold: LetIn['mayHold']): Promise<SettledGroup> {
    // A process that had lost its locks stored the record under the time that it gave it, which may be another by now.
    for (const { run, changes } of group.filter(({ mayBeStored }) => mayBeStored))
      await this.#deps.store.removeMisplaced(run, changes.map(idOf));
    const { store, held, clock, prices, noted, onStored } = this.#deps;
    return settleGroup({ store, held, clock, prices, noted, mayHold, onStored }, group);
  }
}

/** The request as one whose records may be stored already, ids that were made for it included. */
const toBeSettled = (request: WriteRequest): WriteRequest => ({
  ...request,
  mayBeStored: true,
  changes: request.changes.map((change) => ('freshId' in change ? { ...change, freshId: false } : change)),
});

const idOf = (change: RecordChange): string => (change.action === 'update' ? change.id : change.record.id);

/** A key that differs between a run and the same run under another kind. */
const keyOf = (run: RunRef): string => `${lockOf(run)}/${run.kind ?? ''}`;

const runsOf = (group: readonly WriteRequest[]): RunRef[] => [...new Map(group.map(({ run }) => [keyOf(run), run])).values()];

/** The runs of those requests that are no rows of a run of ours: these sums up its rows when it ends. */
function loggedRuns(group: readonly WriteRequest[]): RunRef[] {
  const logged = group.filter(({ changes }) => changes.some(({ action }) => action !== 'replace'));
  return runsOf(logged);
}
